-- $1 catalog, whose lock is held and whose lanes are locked. Ends it, once nothing of it is under way but
-- switches of refreshes, which are carried through and change nothing about that: lists of
-- digests that are still to be written go, and count as failed, so that a retry writes them. The workers that
-- hold some of these jobs are told at their next heartbeat.
WITH over AS MATERIALIZED (
    SELECT c.id FROM catalog c
    WHERE c.id = $1::bigint AND c.state = 'running'
      -- What was named since its start is not part of what runs, unless it ran by then.
      AND NOT EXISTS (SELECT FROM asset a WHERE a.catalog_id = c.id AND a.state NOT IN ('new', 'switching')
                      AND a.state IN ({{assetUnsettled}}))
), delayed AS (
    DELETE FROM delayed_job d USING over
    WHERE d.catalog_id = over.id AND d.directory_id IS NOT NULL
    RETURNING 1
), gone AS (
    DELETE FROM job USING over
    WHERE job.lane_id = ANY(ARRAY(SELECT id FROM lane WHERE catalog_id = $1::bigint AND rank IN (0, 1, 4)))
      AND job.directory_id IS NOT NULL
    RETURNING job.lane_id, job.id
), told AS (
    INSERT INTO cancelled_job (lease_id, job_id)
    SELECT e.id, g.id
    FROM gone g
    JOIN span p ON p.lane_id = g.lane_id AND g.id BETWEEN p.first_id AND p.last_id
    JOIN lease e ON e.id = p.lease_id
    ON CONFLICT DO NOTHING
), lists AS (
    SELECT (SELECT count(*) FROM delayed) + (SELECT count(*) FROM gone) AS jobs
), ended AS (
    UPDATE catalog c SET state = 'cancelled', ended_at = now(), sums_outstanding = 0,
        sums_failed = c.sums_failed + lists.jobs
    FROM over, lists WHERE c.id = over.id
)
SELECT jobs FROM lists
