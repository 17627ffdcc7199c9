-- $1 catalogs. Jobs go; what workers still hold of them becomes stale.
DELETE FROM job WHERE catalog_id = ANY($1::bigint[])
