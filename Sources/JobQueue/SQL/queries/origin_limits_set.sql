-- $1 origin, $2 connections, $3 requests a second, $4 bytes a second. Its own limits, as a whole.
INSERT INTO origin (url, max_connections, requests_per_second, bytes_per_second, has_own_limits)
VALUES ($1, $2::int, $3::float8, $4::bigint, true)
ON CONFLICT (url) DO UPDATE SET max_connections = excluded.max_connections,
    requests_per_second = excluded.requests_per_second,
    bytes_per_second = excluded.bytes_per_second, has_own_limits = true
