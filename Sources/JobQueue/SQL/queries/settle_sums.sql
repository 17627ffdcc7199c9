-- $1 lanes and $2 jobs, pairwise, $3 failed (0 or 1). Directories whose SHA256SUMS is written, or was
-- given up.
WITH ended AS MATERIALIZED (
    SELECT j.tid, j.lane_id, j.directory_id, r.failed
    FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS r(lane, job, failed)
    {{jobOfEach}}
), gone AS (
    DELETE FROM job WHERE ctid = ANY(ARRAY(SELECT tid FROM ended))
), written AS (
    -- Also of one that failed: its file may lie there all the same.
    UPDATE directory SET sums_at = now() WHERE id = ANY(ARRAY(SELECT directory_id FROM ended))
)
INSERT INTO tally (catalog_id, sums_ended, sums_failed)
SELECT l.catalog_id, count(*), sum(e.failed)
FROM ended e JOIN lane l ON l.id = e.lane_id GROUP BY l.catalog_id
