-- $1 catalogs.
UPDATE asset SET state = 'interrupted', changed_at = now()
WHERE catalog_id = ANY($1::bigint[]) AND state IN ({{assetInterruptible}})
