-- Counted over live jobs only.
SELECT q.name, t.storage_url, count(j.id) FILTER (WHERE j.lease_id IS NULL) AS waiting,
       count(j.lease_id) AS leased
FROM queue q JOIN site t ON t.id = q.site_id LEFT JOIN job j ON j.queue_id = q.id
GROUP BY q.id, q.name, t.storage_url ORDER BY q.name
