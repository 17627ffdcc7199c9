-- $1 lane, $2 seconds, $3 reason. Its origin asked to be left alone.
WITH asked AS (
    UPDATE origin o SET
        cooldown_until = greatest(o.cooldown_until, now() + make_interval(secs => $2::float8)),
        cooldown_reason = $3
    FROM lane l WHERE l.id = $1::bigint AND o.id = l.origin_id AND o.id <> 0
      AND (o.cooldown_until IS NULL OR o.cooldown_until < now() + make_interval(secs => $2::float8))
    RETURNING o.id
), noted AS (
    INSERT INTO origin_decision (origin_id, decision, reason)
    SELECT id, 'cooldown', format('%s; asked to be left alone for %s s', $3, round($2::numeric, 1))
    FROM asked
)
SELECT pg_notify('dray_work', 'origins') FROM asked
