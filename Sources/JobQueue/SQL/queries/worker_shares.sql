-- $1 worker, $2 origins that it is busy with. What it has of origins' limits now; of those that it is
-- busy with also that it has nothing.
SELECT DISTINCT ON (s.origin_id) o.url, s.connections, s.requests_per_second, s.bytes_per_second,
       extract(epoch FROM s.ends_at - clock_timestamp())::float8 AS seconds
FROM origin_share s JOIN origin o ON o.id = s.origin_id
WHERE s.worker_id = $1::uuid AND s.ends_at > clock_timestamp()
  AND (s.connections IS DISTINCT FROM 0 OR o.url = ANY($2::text[]))
ORDER BY s.origin_id, s.ends_at DESC
