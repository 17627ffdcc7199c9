-- Pairwise what a worker saw: $1 sites, $2 their free bytes or null, $3 whether it has just written
-- there. A site that was being tried then goes on. Free bytes are noted every few seconds, whatever the
-- number of workers. One row a site that goes on.
WITH seen AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bool[]) AS u(id, available, is_sound)
), noted AS (
    UPDATE site t SET available_bytes = u.available, seen_at = clock_timestamp()
    FROM seen u
    WHERE t.id = u.id AND coalesce(t.seen_at < clock_timestamp() - interval '5 seconds', true)
      AND NOT (u.is_sound AND t.fault_code IS NOT NULL AND t.fault_retry_at IS NULL)
)
UPDATE site t SET fault_code = NULL, fault_message = NULL, fault_ended_at = clock_timestamp(),
    available_bytes = u.available, seen_at = clock_timestamp()
FROM seen u
WHERE t.id = u.id AND u.is_sound AND t.fault_code IS NOT NULL AND t.fault_retry_at IS NULL
RETURNING t.id
