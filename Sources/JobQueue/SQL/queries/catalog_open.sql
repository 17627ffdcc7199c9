-- $1 site, $2 queue, $3 name, $4 priority. Every opening is a submission of its own.
INSERT INTO catalog (site_id, queue_id, name, priority)
VALUES ($1, $2, $3, $4)
ON CONFLICT (site_id, name) DO UPDATE
SET opened_generation = catalog.opened_generation + 1, priority = excluded.priority
RETURNING id, opened_generation
