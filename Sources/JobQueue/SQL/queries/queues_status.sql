-- What is leased is counted; what waits is what its running catalogs lack beyond that, because there
-- may be millions of it.
SELECT q.name, t.storage_url, q.state, greatest(n.lacking - coalesce(h.jobs, 0), 0) AS waiting,
       coalesce(h.jobs, 0) AS leased, t.schedule_closed AS closed, t.bytes_per_second,
       t.fault_code, t.fault_message
FROM queue q
JOIN site t ON t.id = q.site_id
CROSS JOIN LATERAL (
    SELECT (coalesce(sum(c.segments - c.segments_done - c.segments_failed), 0)
            - coalesce(sum((SELECT coalesce(sum(y.segments_done + y.segments_failed - y.segments), 0)
                            FROM tally y WHERE y.catalog_id = c.id)), 0))::bigint AS lacking
    FROM catalog c WHERE c.queue_id = q.id AND c.state = 'running'
) AS n
LEFT JOIN (
    SELECT l.queue_id, count(*) AS jobs
    FROM lease e
    JOIN span p ON p.lease_id = e.id
    JOIN lane l ON l.id = p.lane_id
    CROSS JOIN LATERAL (
        SELECT * FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id OFFSET 0
    ) AS j
    GROUP BY l.queue_id
) AS h ON h.queue_id = q.id
ORDER BY q.name
