-- $1 lane, $2 maximum number of jobs, $3 lease. The minimal claim of a batch of downloads: their numbers,
-- URLs, keys, lengths and digests.
WITH picked AS MATERIALIZED (
    SELECT id, segment_id FROM job
    WHERE lane_id = $1::bigint AND id > coalesce(
        (SELECT last_id FROM span WHERE lane_id = $1::bigint ORDER BY last_id DESC LIMIT 1), 0)
    ORDER BY id LIMIT $2::int
), leased AS (
    INSERT INTO lease (id, worker_id, expires_at)
    SELECT $3::uuid, $3::uuid, now() + interval '1 hour' WHERE EXISTS (SELECT FROM picked)
), held AS (
    INSERT INTO span (lane_id, first_id, last_id, lease_id, jobs)
    SELECT $1::bigint, min(id), max(id), $3::uuid, count(*) FROM picked HAVING count(*) > 0
)
SELECT p.id, s.url, s.key, s.expected_bytes, s.expected_sha256
FROM picked p JOIN segment s ON s.id = p.segment_id
