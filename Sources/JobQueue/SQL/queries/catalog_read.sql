-- $1 catalog.
SELECT site_id, queue_id, priority, opened_generation, generation, state FROM catalog
WHERE id = $1::bigint
