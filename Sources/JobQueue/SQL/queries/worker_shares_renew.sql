-- $1 worker, $2 seconds, $3 origins that it is busy with. Renews its shares of origins that it holds
-- jobs of, and gives it its first of those that have limits since it has; also of one that is left
-- alone, because what is under way there goes on. Null where there are no limits any more.
SELECT o.url, share_origin(o.id, $1::uuid, $2::float8) AS most
FROM (
    SELECT origin_id FROM origin_share
    WHERE worker_id = $1::uuid AND ends_at > clock_timestamp() AND connections IS DISTINCT FROM 0
    UNION
    SELECT b.id FROM origin b JOIN origin_limit m ON m.id = b.id
    WHERE b.url = ANY($3::text[])
      AND coalesce(m.connections::float8, m.requests_per_second, m.bytes_per_second) IS NOT NULL
    ORDER BY origin_id
) AS s
CROSS JOIN LATERAL (
    SELECT id, url FROM origin WHERE id = s.origin_id AND jobs_held(s.origin_id, $1::uuid) > 0
    FOR UPDATE
) AS o
