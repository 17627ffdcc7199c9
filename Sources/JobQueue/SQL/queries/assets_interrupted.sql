-- $1 catalog, $2 generation. Assets that a start takes up although nothing of them failed.
SELECT id FROM asset
WHERE catalog_id = $1::bigint AND generation = $2::int AND state IN ('new', 'interrupted')
