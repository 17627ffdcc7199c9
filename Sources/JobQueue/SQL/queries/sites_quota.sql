-- $1 site, or null for all. Pauses those whose quota is used up, and lets go on those of which that is no
-- longer true: where it is used up to the byte, not before the files in parts are put together. One row a
-- site that changed.
WITH looked AS MATERIALIZED (
    SELECT s.id, n.used, n.used > s.quota_bytes OR n.used = s.quota_bytes AND NOT EXISTS (
               SELECT FROM assembly y JOIN segment g ON g.id = y.segment_id
               JOIN asset a ON a.id = g.asset_id JOIN catalog c ON c.id = a.catalog_id
               WHERE c.site_id = s.id AND a.state IN ({{assetUnsettled}})) AS is_over
    FROM site s
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(c.bytes + coalesce(
                   (SELECT sum(y.bytes) FROM tally y WHERE y.catalog_id = c.id), 0)), 0)::bigint
                   AS used
        FROM catalog c WHERE c.site_id = s.id AND s.quota_bytes IS NOT NULL
    ) AS n
    WHERE ($1::bigint IS NULL OR s.id = $1)
      AND (s.quota_bytes IS NOT NULL OR s.fault_retry_at = 'infinity')
), locked AS MATERIALIZED (
    SELECT t.id FROM site t
    WHERE t.id = ANY(ARRAY(
        SELECT u.id FROM looked u
        WHERE CASE WHEN u.is_over THEN t.fault_code IS NULL OR t.fault_retry_at <> 'infinity'
                                       OR t.fault_retry_at IS NULL
                   ELSE t.fault_retry_at = 'infinity' END))
    ORDER BY t.id FOR NO KEY UPDATE
)
UPDATE site t SET fault_code = CASE WHEN u.is_over THEN 'storage.quota' END,
    fault_message = CASE WHEN u.is_over THEN
        format('%s of %s bytes of the quota are used', u.used, t.quota_bytes) END,
    fault_since = CASE WHEN u.is_over THEN clock_timestamp() ELSE t.fault_since END,
    -- Nobody has to try: it is seen here.
    fault_retry_at = CASE WHEN u.is_over THEN 'infinity'::timestamptz END,
    fault_ended_at = CASE WHEN u.is_over THEN t.fault_ended_at ELSE clock_timestamp() END
FROM locked l JOIN looked u ON u.id = l.id
WHERE t.id = l.id
RETURNING t.id
