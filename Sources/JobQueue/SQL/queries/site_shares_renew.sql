-- $1 worker, $2 seconds, $3 sites. Its shares of these and of all that it holds jobs of, whose rows are
-- locked in the order of their numbers.
WITH wanted AS MATERIALIZED (
    SELECT t.id
    FROM (
        SELECT id FROM unnest($3::bigint[]) AS named(id)
        UNION
        SELECT q.site_id FROM lease e
        JOIN span p ON p.lease_id = e.id
        JOIN lane l ON l.id = p.lane_id
        JOIN queue q ON q.id = l.queue_id
        WHERE e.worker_id = $1::uuid
    ) AS w
    JOIN site t ON t.id = w.id
        AND (t.bytes_per_second IS NOT NULL OR t.closed OR t.id = ANY($3::bigint[]))
    ORDER BY t.id
)
SELECT s.site, s.number, s.part, s.seconds_left
FROM wanted w CROSS JOIN LATERAL share_site(w.id, $1::uuid, $2::float8) AS s
