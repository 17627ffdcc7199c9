-- $1 catalog, $2 generation. Whether it has assets that a start has yet to take up: nothing else would end
-- them.
SELECT EXISTS (
    SELECT FROM asset WHERE catalog_id = $1::bigint AND generation = $2::int
      AND state IN ({{assetToStart}})
) AS is_lacking
