-- Origins: their limits, cooldowns and circuit breakers.

-- name: list
-- Origins that a list or a manifest names, in order. They get their rows, and keep them.
INSERT INTO origin (url, is_listed)
SELECT u.url, true FROM unnest(@origins::text[]) AS u(url)
WHERE NOT EXISTS (SELECT FROM origin o WHERE o.url = u.url AND o.is_listed)
ON CONFLICT (url) DO UPDATE SET is_listed = true

-- name: named
SELECT id, url FROM origin WHERE url = ANY(@origins::text[])

-- name: note
-- Origins that did something to remember, in order. Those without a row get one, up to @limit at
-- once, and to @max_unlisted origins that no list names in all.
INSERT INTO origin (url, is_listed)
SELECT u.url, false FROM unnest(@origins::text[]) WITH ORDINALITY AS u(url, place)
WHERE NOT EXISTS (SELECT FROM origin o WHERE o.url = u.url)
ORDER BY u.place
LIMIT least(@limit::bigint, greatest(@max_unlisted::bigint - (
    SELECT count(*) FROM (SELECT FROM origin WHERE NOT is_listed LIMIT @max_unlisted::bigint) AS n),
           0))
ON CONFLICT (url) DO NOTHING

-- name: lock
-- Pairwise @lanes and @names or null: origins that failed or asked for a cooldown, those of the
-- lanes where there is no name; @well_lanes and @well_names alike: origins that served something,
-- which matters where they had not before. Locked in the order of their numbers, like everywhere.
SELECT count(*) AS origins FROM (
    SELECT FROM origin o
    WHERE o.id <> 0 AND (
        o.id = ANY(ARRAY(
            SELECT CASE WHEN r.name IS NULL THEN l.origin_id ELSE n.id END
            FROM unnest(@lanes::bigint[], @names::text[]) AS r(lane, name)
            JOIN lane l ON l.id = r.lane LEFT JOIN origin n ON n.url = r.name))
        OR (o.failures > 0 OR o.breaker <> 'closed') AND o.id = ANY(ARRAY(
            SELECT CASE WHEN r.name IS NULL THEN l.origin_id ELSE n.id END
            FROM unnest(@well_lanes::bigint[], @well_names::text[]) AS r(lane, name)
            JOIN lane l ON l.id = r.lane LEFT JOIN origin n ON n.url = r.name)))
    ORDER BY o.id FOR UPDATE
) AS locked

-- name: succeed
-- raises: origin.recover
-- Pairwise lanes and names or null: origins that served something, those of the lanes where there
-- is no name. Their circuit breakers close. The rows are locked by the caller.
WITH well AS (
    SELECT id, breaker FROM origin
    WHERE (failures > 0 OR breaker <> 'closed') AND id <> 0 AND id = ANY(ARRAY(
        SELECT CASE WHEN r.name IS NULL THEN l.origin_id ELSE n.id END
        FROM unnest(@well_lanes::bigint[], @well_names::text[]) AS r(lane, name)
        JOIN lane l ON l.id = r.lane LEFT JOIN origin n ON n.url = r.name))
), noted AS (
    INSERT INTO origin_decision (origin_id, decision)
    SELECT id, 'closed' FROM well WHERE breaker <> 'closed'
)
UPDATE origin o SET failures = 0, openings = 0, breaker = 'closed',
    cooldown_until = CASE WHEN w.breaker = 'closed' THEN o.cooldown_until END
FROM well w WHERE o.id = w.id

-- name: fail
-- raises: origin.trip, origin.exhaust
-- Pairwise lanes, failure codes, and names of the origins that failed, or null for those of the
-- lanes; nothing is booked on one that has no row. Failures that count against their origins, whose
-- rows are locked by the caller. @failures in a row open the breaker for @first_seconds, each time
-- twice as long, up to @max_seconds; after @openings the origin is failing and has its jobs tried
-- once each, until one succeeds.
WITH failed AS (
    SELECT CASE WHEN r.name IS NULL THEN l.origin_id ELSE o.id END AS origin_id,
           count(*)::int AS n, max(r.code) AS code, bool_or(o.id IS NOT NULL) AS is_named
    FROM unnest(@lanes::bigint[], @codes::text[], @names::text[]) AS r(lane, code, name)
    JOIN lane l ON l.id = r.lane LEFT JOIN origin o ON o.url = r.name
    WHERE CASE WHEN r.name IS NULL THEN l.origin_id ELSE o.id END <> 0 GROUP BY 1
), locked AS MATERIALIZED (
    SELECT o.id, o.breaker, o.failures + f.n AS failures, o.openings, f.code,
           o.breaker = 'halfOpen' OR (o.breaker = 'closed' AND o.failures + f.n >= @failures::int)
               -- One that jobs are led to has no job of its own that tries it: the first one does.
               OR (o.breaker = 'open' AND f.is_named AND o.cooldown_until <= now()) AS opens
    FROM failed f JOIN origin o ON o.id = f.origin_id
), next AS (
    SELECT *, CASE WHEN NOT opens THEN breaker WHEN openings >= @openings::int THEN 'failing'
        ELSE 'open' END
               AS becomes,
           least(@first_seconds::float8 * 2 ^ least(openings, 30), @max_seconds::float8) AS seconds
    FROM locked
), noted AS (
    INSERT INTO origin_decision (origin_id, decision, code, failures, openings, seconds)
    SELECT id, becomes, code, failures, openings, seconds FROM next WHERE opens
), changed AS (
    UPDATE origin o SET failures = n.failures, breaker = n.becomes,
        openings = o.openings + n.opens::int,
        cooldown_until = CASE n.becomes
            WHEN 'open' THEN greatest(o.cooldown_until, now() + make_interval(secs => n.seconds))
            WHEN 'failing' THEN NULL ELSE o.cooldown_until END,
        cooldown_reason = CASE WHEN n.opens THEN n.code ELSE o.cooldown_reason END, noted_at = now()
    FROM next n WHERE o.id = n.id
    RETURNING n.opens
)
SELECT pg_notify('dray_work', 'origins') FROM changed WHERE opens LIMIT 1

-- name: coolDown
-- Pairwise. Origins that asked for a cooldown, those of the lanes where there is no name. The rows
-- are locked by the caller.
WITH wanted AS (
    SELECT CASE WHEN r.name IS NULL THEN l.origin_id ELSE n.id END AS id, max(r.seconds) AS seconds,
           max(r.reason) AS reason
    FROM unnest(@lanes::bigint[], @names::text[], @seconds::float8[], @reasons::text[]) AS r(lane,
            name, seconds, reason)
    JOIN lane l ON l.id = r.lane LEFT JOIN origin n ON n.url = r.name
    GROUP BY 1
), asked AS (
    UPDATE origin o SET cooldown_until = now() + make_interval(secs => w.seconds),
        cooldown_reason = w.reason, noted_at = now()
    FROM wanted w WHERE o.id = w.id AND o.id <> 0
      AND (o.cooldown_until IS NULL OR o.cooldown_until < now() + make_interval(secs => w.seconds))
    RETURNING o.id, w.seconds, w.reason
), noted AS (
    INSERT INTO origin_decision (origin_id, decision, code, seconds)
    SELECT id, 'cooldown', reason, seconds FROM asked
)
SELECT pg_notify('dray_work', 'origins') FROM asked LIMIT 1

-- name: cooldowns
-- Origins in a cooldown, for how long and until when in microseconds since 1970, and whether one
-- job tries it meanwhile.
SELECT url, extract(epoch FROM cooldown_until - now())::float8 AS seconds,
       (extract(epoch FROM cooldown_until) * 1e6)::bigint AS until, breaker = 'halfOpen' AS is_tried
FROM origin
WHERE cooldown_until > now() ORDER BY cooldown_until DESC LIMIT 1000

-- name: defaults
SELECT max_connections, requests_per_second, bytes_per_second,
       extract(epoch FROM clock_timestamp())::float8 AS now
FROM origin WHERE id = 0

-- name: setDefaults
-- The limits of origins that have none of their own.
UPDATE origin SET max_connections = @connections::int,
    requests_per_second = @requests_per_second::float8, bytes_per_second = @bytes_per_second::bigint
WHERE id = 0

-- name: setLimits
-- An origin's own limits, as a whole.
INSERT INTO origin (url, max_connections, requests_per_second, bytes_per_second, has_own_limits)
VALUES (@origin, @connections::int, @requests_per_second::float8, @bytes_per_second::bigint, true)
ON CONFLICT (url) DO UPDATE SET max_connections = excluded.max_connections,
    requests_per_second = excluded.requests_per_second,
    bytes_per_second = excluded.bytes_per_second, has_own_limits = true

-- name: clearLimits
-- The default limits apply again.
UPDATE origin SET max_connections = NULL, requests_per_second = NULL, bytes_per_second = NULL,
    has_own_limits = false
WHERE url = @origin AND id <> 0 RETURNING id

-- name: page
-- Counts waiting jobs up to @counted in each lane: there may be millions of them.
WITH page AS MATERIALIZED (
    SELECT * FROM origin WHERE id <> 0 AND url > @after ORDER BY url LIMIT @limit::int
), waiting AS MATERIALIZED (
    SELECT l.origin_id, sum(least(n.jobs, @counted::int)) AS jobs, bool_or(n.jobs > @counted::int) AS is_cut
    FROM lane l JOIN page g ON g.id = l.origin_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs FROM (
            SELECT FROM job WHERE lane_id = l.id
              AND id > coalesce((SELECT last_id FROM span WHERE lane_id = l.id
                                 ORDER BY last_id DESC LIMIT 1), 0)
            LIMIT @counted::int + 1
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
    JOIN page g ON g.id = l.origin_id
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
       coalesce(w.is_cut, false) AS has_more_waiting,
       coalesce(h.jobs, 0)::bigint AS leased
FROM page g
JOIN origin_limit z ON z.id = g.id
LEFT JOIN waiting w ON w.origin_id = g.id
LEFT JOIN delayed d ON d.origin_id = g.id
LEFT JOIN leased h ON h.origin_id = g.id
LEFT JOIN shares s ON s.origin_id = g.id
ORDER BY g.url

-- name: decisions
-- The last decision of each worker seen in the last minute, and the latest 20 of the cluster, for
-- each origin.
SELECT d.origin_id, d.worker_id, w.name, extract(epoch FROM d.decided_at)::float8 AS decided_at,
       d.decision, d.reason, d.concurrency, d.bytes_per_second, d.code, d.failures, d.openings,
       d.seconds
FROM unnest(@origins::bigint[]) AS o(id)
CROSS JOIN LATERAL (
    (SELECT DISTINCT ON (worker_id) * FROM origin_decision
     WHERE origin_id = o.id AND worker_id IS NOT NULL ORDER BY worker_id, id DESC)
    UNION ALL
    (SELECT * FROM origin_decision
     WHERE origin_id = o.id AND worker_id IS NULL ORDER BY id DESC LIMIT 20)
) AS d
LEFT JOIN worker w ON w.id = d.worker_id AND w.last_seen > now() - interval '60 seconds'
WHERE d.worker_id IS NULL OR w.id IS NOT NULL
ORDER BY d.origin_id, w.name, d.id DESC

-- name: decide
-- Pairwise. What a worker decided about the number of its transfers, unless it reported so before.
INSERT INTO origin_decision (origin_id, worker_id, concurrency, bytes_per_second, decision, reason)
SELECT o.id, @worker::uuid, r.concurrency, r.bytes_per_second, r.decision, r.reason
FROM unnest(@origins::text[], @concurrency::int[], @bytes_per_second::bigint[], @decisions::text[],
            @reasons::text[])
    AS r(origin, concurrency, bytes_per_second, decision, reason)
JOIN origin o ON o.url = r.origin
WHERE NOT EXISTS (
    SELECT FROM (SELECT decision, reason, concurrency FROM origin_decision
                 WHERE origin_id = o.id AND worker_id = @worker::uuid ORDER BY id DESC
                     LIMIT 1) AS last
    WHERE (last.decision, last.reason, last.concurrency) = (r.decision, r.reason, r.concurrency))
