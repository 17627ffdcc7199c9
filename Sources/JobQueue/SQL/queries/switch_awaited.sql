-- $1 catalog, $2 generation, whose start has locked its work. An asset that is to be dropped or begun anew, and that is
-- in the midst of its switch.
SELECT name FROM asset
WHERE catalog_id = $1 AND state = 'switching' AND (redefined OR generation < $2 OR sidecars_changed)
LIMIT 1
