-- $1 a queue's name or a storage URL, or null for all.
SELECT t.id, q.name AS queue, t.storage_url, t.schedule, t.max_bytes_per_second,
       t.schedule_closed AS closed,
       t.bytes_per_second, extract(epoch FROM t.next_change)::float8 AS next_change,
       t.floor_bytes, t.quota_bytes, t.available_bytes, t.volume_id,
       t.fault_code, t.fault_message,
       CASE WHEN t.fault_code IS NOT NULL
            THEN extract(epoch FROM t.fault_since)::float8 END AS fault_since,
       (SELECT coalesce(sum(c.bytes + coalesce(
                   (SELECT sum(y.bytes) FROM tally y WHERE y.catalog_id = c.id), 0)), 0)
        FROM catalog c WHERE c.site_id = t.id)::bigint AS used_bytes,
       extract(epoch FROM clock_timestamp())::float8 AS now
FROM site t JOIN queue q ON q.site_id = t.id
WHERE $1::text IS NULL OR q.name = $1 OR t.storage_url = $1
ORDER BY q.name
