-- $1 a queue's name or a storage URL, or null for all.
SELECT t.id, q.name AS queue, t.storage_url, t.schedule, t.max_bytes_per_second, t.closed,
       t.bytes_per_second, extract(epoch FROM t.next_change)::float8 AS next_change,
       extract(epoch FROM clock_timestamp())::float8 AS now
FROM site t JOIN queue q ON q.site_id = t.id
WHERE $1::text IS NULL OR q.name = $1 OR t.storage_url = $1
ORDER BY q.name
