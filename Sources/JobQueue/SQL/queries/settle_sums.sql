-- $1 lanes and $2 jobs, pairwise, $3 failed (0 or 1). Directories whose SHA256SUMS is written, or was
-- given up. Those that were listed with them need no list of their own.
WITH ended AS MATERIALIZED (
    SELECT j.tid, j.lane_id, j.id, j.directory_id, r.failed
    FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS r(lane, job, failed)
    {{jobOfEach}}
), gone AS (
    DELETE FROM job WHERE ctid = ANY(ARRAY(SELECT tid FROM ended))
), turns AS (
    DELETE FROM sums_writer w USING ended e JOIN directory d ON d.id = e.directory_id
    WHERE w.site_id = d.site_id AND w.path = d.path AND w.lane_id = e.lane_id AND w.job_id = e.id
    RETURNING w.site_id, w.path, e.failed
), written AS (
    UPDATE directory d SET sums = 'written' FROM turns t
    WHERE t.failed = 0 AND d.site_id = t.site_id AND d.path = t.path AND d.sums = 'read'
)
INSERT INTO tally (catalog_id, sums_ended, sums_failed)
SELECT l.catalog_id, count(*), sum(e.failed)
FROM ended e JOIN lane l ON l.id = e.lane_id GROUP BY l.catalog_id
