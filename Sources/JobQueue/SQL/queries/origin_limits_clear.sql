-- $1 origin. The default counts again.
UPDATE origin SET max_connections = NULL, requests_per_second = NULL, bytes_per_second = NULL,
    has_own_limits = false
WHERE url = $1 AND id <> 0 RETURNING id
