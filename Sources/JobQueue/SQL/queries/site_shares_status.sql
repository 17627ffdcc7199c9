-- Shares of sites that count now, the largest of each worker.
SELECT s.site_id, s.worker_id, coalesce(w.name, '') AS name,
       max(s.bytes_per_second) AS bytes_per_second
FROM site_share s LEFT JOIN worker w ON w.id = s.worker_id
WHERE s.ends_at > clock_timestamp()
GROUP BY s.site_id, s.worker_id, w.name
ORDER BY s.site_id, w.name, s.worker_id
