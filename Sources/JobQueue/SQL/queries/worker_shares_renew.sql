-- $1 worker, $2 seconds. Renews its shares of origins that it holds jobs of.
SELECT share_origin(o.id, $1::uuid, $2::float8)
FROM (
    SELECT DISTINCT origin_id FROM origin_share
    WHERE worker_id = $1::uuid AND ends_at > clock_timestamp() AND connections IS DISTINCT FROM 0
    ORDER BY origin_id
) AS s
CROSS JOIN LATERAL (
    SELECT id FROM origin WHERE id = s.origin_id
      AND (cooldown_until IS NULL OR cooldown_until <= now())
      AND jobs_held(s.origin_id, $1::uuid) > 0
    FOR UPDATE
) AS o
