-- Pairwise $1 lanes, $2 codes and $3 messages: their sites cannot be written and are paused, unless
-- they are already; for 5 seconds, and for twice as long each time that it comes again within a
-- minute, up to a minute. One row a site that is new.
WITH failed AS MATERIALIZED (
    SELECT DISTINCT ON (q.site_id) q.site_id, u.code, u.message
    FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u(lane, code, message)
    JOIN lane l ON l.id = u.lane
    JOIN queue q ON q.id = l.queue_id
    ORDER BY q.site_id, u.lane
), locked AS MATERIALIZED (
    SELECT s.id, s.fault_code IS NULL AS is_new,
           -- A worker that cannot use the site reports so now and then: that grows no pause of the others.
           CASE WHEN f.code IN ('storage.otherVolume', 'storage.sitePermission') THEN 1
                WHEN s.fault_code IS NOT NULL
                     OR s.fault_ended_at > clock_timestamp() - interval '1 minute'
                THEN least(s.fault_tries + 1, 10) ELSE 1 END AS tries
    FROM site s JOIN failed f ON f.site_id = s.id
    WHERE s.id = ANY(ARRAY(SELECT site_id FROM failed))
      AND (s.fault_code IS NULL OR s.fault_retry_at IS NULL)
    ORDER BY s.id FOR NO KEY UPDATE OF s
)
UPDATE site t SET fault_code = f.code, fault_message = f.message,
    fault_since = CASE WHEN n.is_new THEN clock_timestamp() ELSE t.fault_since END,
    fault_tries = n.tries,
    fault_retry_at = clock_timestamp() + make_interval(secs => least(5 * 2 ^ (n.tries - 1), 60))
FROM locked n JOIN failed f ON f.site_id = n.id
WHERE t.id = n.id
RETURNING t.id
