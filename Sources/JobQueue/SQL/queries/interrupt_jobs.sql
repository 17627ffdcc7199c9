-- $1 catalogs. Jobs go; what workers still hold of them becomes stale.
WITH delayed AS (
    DELETE FROM delayed_job WHERE catalog_id = ANY($1::bigint[])
)
DELETE FROM job USING lane l WHERE l.catalog_id = ANY($1::bigint[]) AND job.lane_id = l.id
