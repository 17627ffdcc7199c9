-- $1 catalog, $2 generation. Whether it has assets that a start has yet to take up.
SELECT EXISTS (
    SELECT FROM asset WHERE catalog_id = $1::bigint AND generation = $2::int
      AND state NOT IN ('completed', 'failed', 'refreshing', 'switching')
) AS is_lacking
