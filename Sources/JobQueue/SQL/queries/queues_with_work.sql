-- $1 queue names, empty for all. Queues that have a job to lease now.
SELECT q.id, q.site_id, t.storage_url, q.name, (SELECT id FROM cluster)
FROM queue q JOIN site t ON t.id = q.site_id
WHERE (cardinality($1::text[]) = 0 OR q.name = ANY($1::text[]))
  AND q.state <> 'paused' AND NOT t.closed
  AND (EXISTS (SELECT FROM delayed_job d WHERE d.queue_id = q.id AND d.available_at <= now())
       OR EXISTS (SELECT FROM claim_order(q.id)) OR EXISTS (SELECT FROM isolated_lanes(q.id)))
