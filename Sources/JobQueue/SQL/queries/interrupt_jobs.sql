-- $1 catalogs. Jobs go, but for switches, which are carried through; what workers still hold of them becomes
-- stale. Workers that write a list of checksums hear of it at their next heartbeat: another one may begin.
WITH delayed AS (
    DELETE FROM delayed_job WHERE catalog_id = ANY($1::bigint[]) AND kind <> 'switch'
), gone AS (
    DELETE FROM job
    WHERE lane_id = ANY(ARRAY(SELECT id FROM lane WHERE catalog_id = ANY($1::bigint[]))) AND kind <> 'switch'
    RETURNING lane_id, id, directory_id
)
INSERT INTO cancelled_job (lease_id, job_id)
SELECT e.id, g.id
FROM gone g
JOIN span p ON p.lane_id = g.lane_id AND g.id BETWEEN p.first_id AND p.last_id
JOIN lease e ON e.id = p.lease_id
WHERE g.directory_id IS NOT NULL
ON CONFLICT DO NOTHING
