-- Pairwise what a worker saw: $1 sites, $2 their free bytes or null, $3 whether it has just written
-- there. A site that was being tried then resumes; one that a worker could not use, at once. Free bytes are noted every
-- few seconds, whatever the number of workers. One row a site that resumes.
WITH seen AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bool[]) AS u(id, available, is_sound)
), locked AS MATERIALIZED (
    SELECT t.id, coalesce(t.fault_code IS NOT NULL AND t.fault_retry_at IS NULL
               OR t.fault_code IN ('storage.otherVolume', 'storage.sitePermission'), false) AS is_tried
    FROM site t
    WHERE t.id = ANY($1::bigint[])
      AND (coalesce(t.seen_at < clock_timestamp() - interval '5 seconds', true)
           OR t.fault_code IS NOT NULL
              AND (t.fault_retry_at IS NULL
                   OR t.fault_code IN ('storage.otherVolume', 'storage.sitePermission'))
              AND t.id = ANY(ARRAY(SELECT id FROM seen WHERE is_sound)))
    ORDER BY t.id FOR NO KEY UPDATE
), noted AS (
    UPDATE site t SET
        fault_code = CASE WHEN l.is_tried AND u.is_sound THEN NULL ELSE t.fault_code END,
        fault_message = CASE WHEN l.is_tried AND u.is_sound THEN NULL ELSE t.fault_message END,
        fault_ended_at = CASE WHEN l.is_tried AND u.is_sound THEN clock_timestamp()
                              ELSE t.fault_ended_at END,
        fault_retry_at = CASE WHEN l.is_tried AND u.is_sound THEN NULL ELSE t.fault_retry_at END,
        available_bytes = u.available, seen_at = clock_timestamp()
    FROM locked l JOIN seen u ON u.id = l.id
    WHERE t.id = l.id
    RETURNING t.id, l.is_tried AND u.is_sound AS goes_on
)
SELECT id FROM noted WHERE goes_on
