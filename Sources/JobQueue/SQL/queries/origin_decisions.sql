-- $1 origins. The last decision of each worker heard of in the last minute, and the latest 20 of the
-- cluster, for each origin.
SELECT d.origin_id, d.worker_id, w.name, extract(epoch FROM d.decided_at)::float8 AS decided_at,
       d.decision, d.reason, d.concurrency, d.bytes_per_second
FROM unnest($1::bigint[]) AS o(id)
CROSS JOIN LATERAL (
    (SELECT DISTINCT ON (worker_id) * FROM origin_decision
     WHERE origin_id = o.id AND worker_id IS NOT NULL ORDER BY worker_id, id DESC)
    UNION ALL
    (SELECT * FROM origin_decision
     WHERE origin_id = o.id AND worker_id IS NULL ORDER BY id DESC LIMIT 20)
) AS d
LEFT JOIN worker w ON w.id = d.worker_id AND w.last_seen > now() - interval '60 seconds'
WHERE d.worker_id IS NULL OR w.id IS NOT NULL
ORDER BY d.origin_id, w.name, d.id DESC
