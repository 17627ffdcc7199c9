-- $1 lease, $2 worker. The jobs that it holds.
SELECT j.id
FROM lease e
JOIN span p ON p.lease_id = e.id
CROSS JOIN LATERAL (
    SELECT id FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id OFFSET 0
) AS j
WHERE e.id = $1::uuid AND e.worker_id = $2::uuid
