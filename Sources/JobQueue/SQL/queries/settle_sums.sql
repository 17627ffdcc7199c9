-- $1 job, $2 failed (0 or 1). A directory's SHA256SUMS is written, or was given up; the last one
-- ends the catalog.
WITH gone AS (
    DELETE FROM job WHERE id = $1::bigint RETURNING catalog_id
)
UPDATE catalog c SET
    sums_outstanding = c.sums_outstanding - 1,
    sums_failed = c.sums_failed + $2::int,
    state = CASE WHEN c.sums_outstanding > 1
                      OR c.assets_completed + c.assets_failed < c.assets THEN c.state
                 WHEN c.assets_failed + c.sums_failed + $2::int > 0 THEN 'failed'
                 ELSE 'completed' END,
    ended_at = CASE WHEN c.sums_outstanding > 1
                         OR c.assets_completed + c.assets_failed < c.assets THEN c.ended_at
                    ELSE now() END
FROM gone WHERE c.id = gone.catalog_id
