-- Workers' quotas of sites' bandwidths.
SELECT q.resource_id AS site_id, q.worker_id, coalesce(w.name, '') AS name, q.held_bytes AS bytes_per_second
FROM quota q LEFT JOIN worker w ON w.id = q.worker_id
WHERE q.kind = 'site' AND q.ends_at > clock_timestamp() AND q.held_bytes IS NOT NULL
ORDER BY q.resource_id, w.name, q.worker_id
