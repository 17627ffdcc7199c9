-- $1 a queue's name, or null for all. Jobs that are leased, workers that hold them or have a share of a load
-- test, and workers that are heard of: idle ones say every 30 seconds that they are there.
SELECT count(*) AS leased,
       count(DISTINCT e.worker_id)
       + (SELECT count(*) FROM load_share s
          JOIN load_test t ON t.id = s.test_id
          LEFT JOIN queue o ON o.id = t.queue_id
          WHERE s.state IN ({{loadShareUnderWay}}) AND (t.queue_id IS NULL OR $1::text IS NULL OR o.name = $1)
            AND NOT EXISTS (SELECT FROM lease h WHERE h.worker_id = s.worker_id)) AS busy,
       (SELECT count(*) FROM worker WHERE last_seen > now() - interval '40 seconds') AS workers
FROM lease e
JOIN span p ON p.lease_id = e.id
JOIN lane l ON l.id = p.lane_id
JOIN queue q ON q.id = l.queue_id
CROSS JOIN LATERAL (
    SELECT FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id OFFSET 0
) AS j
WHERE $1::text IS NULL OR q.name = $1
