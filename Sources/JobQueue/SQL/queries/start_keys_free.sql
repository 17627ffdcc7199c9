-- $1 catalog, $2 generation. Keys that were refused are checked again.
UPDATE asset SET key_taken = false
WHERE catalog_id = $1::bigint AND generation = $2::int AND key_taken
