-- $1 catalog, $2 not before and $3 deadline in seconds since 1970: 0 for none, null to leave it. How much
-- of it is under way, which is not written. No row when the deadline of the latest submission would come first. A
-- deadline holds for what was started and for what was only opened.
WITH next AS (
    SELECT id, opened_generation > generation AS is_opened,
           CASE WHEN $2::float8 IS NULL THEN not_before
                WHEN $2::float8 > 0 THEN to_timestamp($2::float8) END AS not_before,
           CASE WHEN $3::float8 IS NULL THEN deadline
                WHEN $3::float8 > 0 THEN to_timestamp($3::float8) END AS deadline,
           CASE WHEN $3::float8 IS NULL THEN opened_deadline
                WHEN $3::float8 > 0 THEN to_timestamp($3::float8) END AS opened_deadline
    FROM catalog WHERE id = $1::bigint
)
UPDATE catalog c SET not_before = n.not_before, deadline = n.deadline, opened_deadline = n.opened_deadline
FROM next n
WHERE c.id = n.id
  AND (CASE WHEN n.is_opened THEN n.opened_deadline ELSE n.deadline END > n.not_before) IS NOT FALSE
RETURNING CASE WHEN c.state = 'running' THEN c.assets - c.assets_completed - c.assets_failed - c.assets_cancelled
               ELSE 0 END AS assets,
          CASE WHEN c.state = 'running' THEN c.segments - c.segments_done - c.segments_failed
               ELSE 0 END AS jobs
