-- $1 site. There may be room for what waits for some: it is tried now.
UPDATE delayed_job d SET available_at = now()
FROM queue q
WHERE q.site_id = $1::bigint AND d.queue_id = q.id AND d.failure_code IS NOT NULL
  AND d.available_at > now()
