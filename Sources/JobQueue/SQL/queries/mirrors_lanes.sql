-- $1 after this lane, $2 most lanes. Lanes with work whose origin is left alone: what of it has mirrors need not
-- wait. Costs a look at the origins that have a cooldown where none is left alone.
WITH alone AS MATERIALIZED (
    SELECT id FROM origin
    WHERE cooldown_until IS NOT NULL AND (cooldown_until > now() OR breaker = 'halfOpen')
)
SELECT l.id FROM lane l
WHERE EXISTS (SELECT FROM alone)
  AND l.id > $1::bigint AND l.ready_since IS NOT NULL AND l.rank IN (1, 3)
  AND l.origin_id IN (SELECT id FROM alone)
ORDER BY l.id LIMIT $2::int
