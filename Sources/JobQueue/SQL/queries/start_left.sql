-- $1 catalog, $2 the generation before this start. Assets of it that were not named again.
SELECT count(*) AS assets FROM asset WHERE catalog_id = $1::bigint AND generation = $2::int
