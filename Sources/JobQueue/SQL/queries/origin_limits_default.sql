-- $1 connections, $2 requests a second, $3 bytes a second. Of origins that have none of their own.
UPDATE origin SET max_connections = $1::int, requests_per_second = $2::float8,
    bytes_per_second = $3::bigint
WHERE id = 0
