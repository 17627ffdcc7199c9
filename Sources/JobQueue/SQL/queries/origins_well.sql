-- Pairwise $1 lanes and $2 names or null: origins that served something, those of the lanes where there is
-- no name. Their breakers close. The rows are locked by the caller.
WITH well AS (
    SELECT id, breaker FROM origin
    WHERE (failures > 0 OR breaker <> 'closed') AND id <> 0 AND id = ANY(ARRAY(
        SELECT CASE WHEN r.name IS NULL THEN l.origin_id ELSE n.id END
        FROM unnest($1::bigint[], $2::text[]) AS r(lane, name)
        JOIN lane l ON l.id = r.lane LEFT JOIN origin n ON n.url = r.name))
), noted AS (
    INSERT INTO origin_decision (origin_id, decision, reason)
    SELECT id, 'closed', 'a job succeeded' FROM well WHERE breaker <> 'closed'
)
UPDATE origin o SET failures = 0, openings = 0, breaker = 'closed',
    cooldown_until = CASE WHEN w.breaker = 'closed' THEN o.cooldown_until END
FROM well w WHERE o.id = w.id
