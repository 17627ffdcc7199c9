-- $1 after this origin, $2 most rows. The default's row is number 0 and comes with the first page. What
-- waits is counted up to 10,000 a lane: there may be millions of it.
WITH page AS MATERIALIZED (
    SELECT * FROM origin WHERE id <> 0 AND url > $1 ORDER BY url LIMIT $2::int
), waiting AS MATERIALIZED (
    SELECT l.origin_id, sum(n.jobs) AS jobs
    FROM lane l JOIN page g ON g.id = l.origin_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs FROM (
            SELECT FROM job WHERE lane_id = l.id
              AND id > coalesce((SELECT last_id FROM span WHERE lane_id = l.id
                                 ORDER BY last_id DESC LIMIT 1), 0)
            LIMIT 10000
        ) AS j
    ) AS n
    WHERE l.ready_since IS NOT NULL
    GROUP BY l.origin_id
), delayed AS MATERIALIZED (
    SELECT origin_id, count(*) AS jobs
    FROM (SELECT origin_id FROM delayed_job LIMIT 100000) AS d GROUP BY origin_id
), leased AS MATERIALIZED (
    SELECT l.origin_id, count(*) AS jobs
    FROM lease e
    JOIN span p ON p.lease_id = e.id
    JOIN lane l ON l.id = p.lane_id
    JOIN job j ON j.lane_id = p.lane_id AND j.id BETWEEN p.first_id AND p.last_id
    GROUP BY l.origin_id
), shares AS MATERIALIZED (
    SELECT resource_id AS origin_id, sum(connections)::bigint AS connections,
           sum(requests)::float8 AS requests_per_second
    FROM quota WHERE kind = 'origin' AND ends_at > now() GROUP BY resource_id
)
SELECT g.id, g.url, g.has_own_limits, z.connections AS max_connections, z.requests_per_second,
       z.bytes_per_second,
       CASE WHEN g.cooldown_until > now() THEN extract(epoch FROM g.cooldown_until)::float8 END
           AS cooldown_until,
       g.breaker,
       CASE WHEN g.cooldown_until > now() OR g.breaker <> 'closed' THEN g.cooldown_reason END
           AS reason,
       coalesce(s.connections, 0)::bigint AS connections_in_use,
       least(coalesce(s.requests_per_second, 0), z.requests_per_second)::float8 AS requests_in_use,
       (coalesce(w.jobs, 0) + coalesce(d.jobs, 0))::bigint AS waiting,
       coalesce(h.jobs, 0)::bigint AS leased
FROM page g
JOIN origin_limit z ON z.id = g.id
LEFT JOIN waiting w ON w.origin_id = g.id
LEFT JOIN delayed d ON d.origin_id = g.id
LEFT JOIN leased h ON h.origin_id = g.id
LEFT JOIN shares s ON s.origin_id = g.id
ORDER BY g.url
