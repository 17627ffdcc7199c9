-- Pairwise $1 lanes, $2 names or null, $3 seconds, $4 reasons: origins that asked to be left alone, those of
-- the lanes where there is no name. The rows are locked by the caller.
WITH wanted AS (
    SELECT CASE WHEN r.name IS NULL THEN l.origin_id ELSE n.id END AS id, max(r.seconds) AS seconds, max(r.reason) AS reason
    FROM unnest($1::bigint[], $2::text[], $3::float8[], $4::text[]) AS r(lane, name, seconds, reason)
    JOIN lane l ON l.id = r.lane LEFT JOIN origin n ON n.url = r.name
    GROUP BY 1
), asked AS (
    UPDATE origin o SET cooldown_until = now() + make_interval(secs => w.seconds),
        cooldown_reason = w.reason, noted_at = now()
    FROM wanted w WHERE o.id = w.id AND o.id <> 0
      AND (o.cooldown_until IS NULL OR o.cooldown_until < now() + make_interval(secs => w.seconds))
    RETURNING o.id, w.seconds, w.reason
), noted AS (
    INSERT INTO origin_decision (origin_id, decision, reason)
    SELECT id, 'cooldown',
           format('%s; asked to be left alone for %s s', reason, round(seconds::numeric, 1))
    FROM asked
)
SELECT pg_notify('dray_work', 'origins') FROM asked LIMIT 1
