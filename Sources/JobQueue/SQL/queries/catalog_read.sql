-- $1 catalog.
SELECT site_id, queue_id, has_mirrors, priority, opened_generation, generation, state,
       (SELECT state FROM queue WHERE queue.id = catalog.queue_id) AS queue_state,
       sums_failed + (SELECT coalesce(sum(t.sums_failed), 0)
                      FROM tally t WHERE t.catalog_id = catalog.id) AS sums_failed
FROM catalog
WHERE id = $1::bigint
