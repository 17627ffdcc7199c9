-- $1 worker. What it has of origins' limits now.
SELECT DISTINCT ON (s.origin_id) o.url, s.connections, s.requests_per_second, s.bytes_per_second,
       extract(epoch FROM s.ends_at - clock_timestamp())::float8 AS seconds
FROM origin_share s JOIN origin o ON o.id = s.origin_id
WHERE s.worker_id = $1::uuid AND s.ends_at > clock_timestamp() AND s.connections IS DISTINCT FROM 0
ORDER BY s.origin_id, s.ends_at DESC
