-- $1 lanes, $2 jobs of theirs and $3 other lanes (by threes, in the order of the jobs), all of which are locked. What
-- nobody holds of the jobs goes to the other lanes under new numbers. A job that somebody has locked stays: he may
-- wait for these lanes.
WITH moved AS MATERIALIZED (
    SELECT r.target, j.*
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS r(lane, job, target)
    CROSS JOIN LATERAL (
        SELECT ctid AS tid, * FROM job WHERE lane_id = r.lane AND id = r.job AND id > coalesce(
            (SELECT last_id FROM span WHERE lane_id = r.lane ORDER BY last_id DESC LIMIT 1), 0)
        FOR UPDATE SKIP LOCKED
    ) AS j
), gone AS (
    DELETE FROM job WHERE ctid = ANY(ARRAY(SELECT tid FROM moved))
), placed AS (
    INSERT INTO job (lane_id, asset_id, segment_id, whole_id, directory_id, kind, attempt)
    SELECT target, asset_id, segment_id, whole_id, directory_id, kind, attempt
    FROM moved ORDER BY lane_id, id
), ready AS (
    UPDATE lane SET ready_since = now()
    WHERE id = ANY(ARRAY(SELECT DISTINCT target FROM moved)) AND ready_since IS NULL
)
SELECT id FROM moved
