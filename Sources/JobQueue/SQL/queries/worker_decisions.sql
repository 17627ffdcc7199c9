-- $1 worker; pairwise $2 origins, $3 concurrency, $4 bytes a second, $5 decisions, $6 reasons. What it
-- decided about the number of its transfers, unless it said so before.
INSERT INTO origin_decision (origin_id, worker_id, concurrency, bytes_per_second, decision, reason)
SELECT o.id, $1::uuid, r.concurrency, r.bytes_per_second, r.decision, r.reason
FROM unnest($2::text[], $3::int[], $4::bigint[], $5::text[], $6::text[])
    AS r(origin, concurrency, bytes_per_second, decision, reason)
JOIN origin o ON o.url = r.origin
WHERE NOT EXISTS (
    SELECT FROM (SELECT decision, reason, concurrency FROM origin_decision
                 WHERE origin_id = o.id AND worker_id = $1::uuid ORDER BY id DESC LIMIT 1) AS last
    WHERE (last.decision, last.reason, last.concurrency) = (r.decision, r.reason, r.concurrency))
