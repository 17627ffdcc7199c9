-- $1 catalog, whose lanes are locked, $2 assets. Their jobs go, but for switches; the workers that hold some of them are
-- told at their next heartbeat, and what they report is stale.
WITH chosen AS MATERIALIZED (
    SELECT DISTINCT id FROM unnest($2::bigint[]) AS u(id)
), delayed AS (
    -- No joins: with a number of assets that is not known they look through all of them for each job.
    DELETE FROM delayed_job
    WHERE catalog_id = $1 AND kind <> 'switch' AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
    RETURNING 1
), gone AS (
    DELETE FROM job
    WHERE lane_id = ANY(ARRAY(SELECT id FROM lane WHERE catalog_id = $1)) AND kind <> 'switch'
      AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
    RETURNING lane_id, id
), told AS (
    INSERT INTO cancelled_job (lease_id, job_id)
    SELECT e.id, g.id
    FROM gone g
    JOIN span p ON p.lane_id = g.lane_id AND g.id BETWEEN p.first_id AND p.last_id
    JOIN lease e ON e.id = p.lease_id
    ON CONFLICT DO NOTHING
)
SELECT (SELECT count(*) FROM delayed) + (SELECT count(*) FROM gone) AS jobs
