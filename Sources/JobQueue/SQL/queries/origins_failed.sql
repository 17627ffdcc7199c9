-- $1 lanes and $2 failure codes, pairwise; $3 failures in a row that open the breaker, $4 seconds of the
-- first cooldown, $5 of the longest, $6 openings after which the origin is given up, $7 names of the origins
-- that failed, or null for those of the lanes; nothing is booked on one that has no row. Failures that speak
-- against their origins, whose rows are locked by the caller. A breaker that opens leaves its origin alone, each time twice as long;
-- an origin that is given up has its jobs tried once each, until one succeeds.
WITH failed AS (
    SELECT CASE WHEN r.name IS NULL THEN l.origin_id ELSE o.id END AS origin_id,
           count(*)::int AS n, max(r.code) AS code, bool_or(o.id IS NOT NULL) AS is_named
    FROM unnest($1::bigint[], $2::text[], $7::text[]) AS r(lane, code, name)
    JOIN lane l ON l.id = r.lane LEFT JOIN origin o ON o.url = r.name
    WHERE CASE WHEN r.name IS NULL THEN l.origin_id ELSE o.id END <> 0 GROUP BY 1
), locked AS MATERIALIZED (
    SELECT o.id, o.breaker, o.failures + f.n AS failures, o.openings, f.code,
           o.breaker = 'halfOpen' OR (o.breaker = 'closed' AND o.failures + f.n >= $3::int)
               -- One that jobs are led to has no job of its own that tries it: the first one does.
               OR (o.breaker = 'open' AND f.is_named AND o.cooldown_until <= now()) AS opens
    FROM failed f JOIN origin o ON o.id = f.origin_id
), next AS (
    SELECT *, CASE WHEN NOT opens THEN breaker WHEN openings >= $6::int THEN 'failing' ELSE 'open' END
               AS becomes,
           least($4::float8 * 2 ^ least(openings, 30), $5::float8) AS seconds
    FROM locked
), noted AS (
    INSERT INTO origin_decision (origin_id, decision, reason)
    SELECT id, becomes, CASE becomes
        WHEN 'open' THEN format('%s failures in a row, the last %s; left alone for %s s', failures,
                                code, seconds)
        ELSE format('still %s after %s cooldowns; jobs are tried once, until one succeeds', code,
                    openings) END
    FROM next WHERE opens
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
