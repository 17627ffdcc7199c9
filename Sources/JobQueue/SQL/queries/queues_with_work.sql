-- $1 queue names, empty for all. Queues that have a job to lease now.
SELECT q.id FROM queue q
WHERE (cardinality($1::text[]) = 0 OR q.name = ANY($1::text[]))
  AND EXISTS (SELECT FROM job j
              WHERE j.queue_id = q.id AND j.lease_id IS NULL AND j.available_at <= now())
