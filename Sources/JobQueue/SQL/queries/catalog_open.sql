-- $1 site, $2 queue, $3 name, $4 priority, $5 not before and $6 deadline in seconds since 1970 or null.
-- Every opening is a submission of its own. What runs keeps its deadline until the new submission is started.
INSERT INTO catalog (site_id, queue_id, name, priority, not_before, deadline, opened_deadline)
VALUES ($1, $2, $3, $4, to_timestamp($5::float8), to_timestamp($6::float8), to_timestamp($6::float8))
ON CONFLICT (site_id, name) DO UPDATE
SET opened_generation = catalog.opened_generation + 1, priority = excluded.priority,
    not_before = excluded.not_before, opened_deadline = excluded.opened_deadline, opened_at = now(),
    deadline = CASE WHEN catalog.generation = 0 THEN excluded.deadline ELSE catalog.deadline END
RETURNING id, opened_generation
