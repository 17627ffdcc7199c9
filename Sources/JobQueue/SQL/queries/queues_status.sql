-- Counted over live jobs only.
SELECT q.name, t.storage_url, coalesce(n.waiting, 0) AS waiting, coalesce(n.leased, 0) AS leased
FROM queue q JOIN site t ON t.id = q.site_id
LEFT JOIN (
    SELECT queue_id, count(*) FILTER (WHERE lease_id IS NULL) AS waiting, count(lease_id) AS leased
    FROM job GROUP BY queue_id
) AS n ON n.queue_id = q.id
ORDER BY q.name
