-- $1 catalogs. Jobs go, but for switches, which are carried through; what workers still hold of them becomes
-- stale.
WITH delayed AS (
    DELETE FROM delayed_job WHERE catalog_id = ANY($1::bigint[]) AND kind <> 'switch'
)
DELETE FROM job
WHERE lane_id = ANY(ARRAY(SELECT id FROM lane WHERE catalog_id = ANY($1::bigint[]))) AND kind <> 'switch'
