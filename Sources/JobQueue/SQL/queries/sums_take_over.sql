-- $1 job that waits for its turn, $2 its lease; the turn in its directory is locked. One row when the turn begins: it was
-- this job's already, its writer's lease has ended, or the writer's job was taken back and its worker, which holds the
-- lease for other jobs, has sent heartbeats since: their answers say so.
WITH turn AS MATERIALIZED (
    SELECT j.lane_id, w.site_id, w.path, w.lost_at, w.job_id = j.id AND w.lease_id = $2::uuid AS is_own,
           EXISTS (SELECT FROM lease WHERE id = w.lease_id) AS stands,
           EXISTS (SELECT FROM job WHERE lane_id = w.lane_id AND id = w.job_id) AS has_job,
           w.lost_at < now() - interval '30 seconds' AND EXISTS (
               SELECT FROM lease l JOIN worker r ON r.id = l.worker_id
               WHERE l.id = w.lease_id AND r.last_seen > w.lost_at + interval '20 seconds') AS is_known
    FROM job j JOIN directory d ON d.id = j.directory_id
    JOIN sums_writer w ON w.site_id = d.site_id AND w.path = d.path
    WHERE j.lane_id IN (SELECT lane_id FROM span WHERE lease_id = $2::uuid) AND j.id = $1::bigint
), lost AS (
    UPDATE sums_writer w SET lost_at = now() FROM turn t
    WHERE w.site_id = t.site_id AND w.path = t.path
      AND t.stands AND NOT t.has_job AND NOT t.is_own AND t.lost_at IS NULL
), taken AS (
    UPDATE sums_writer w SET lane_id = t.lane_id, job_id = $1::bigint, lease_id = $2::uuid, lost_at = NULL,
        begun_at = now()
    FROM turn t
    WHERE w.site_id = t.site_id AND w.path = t.path
      AND (t.is_own OR NOT t.stands OR NOT t.has_job AND t.is_known)
    RETURNING w.site_id, w.path
), read AS (
    UPDATE directory d SET sums = 'read' FROM taken t
    WHERE d.site_id = t.site_id AND d.path = t.path AND d.sums = 'due'
)
SELECT FROM taken
