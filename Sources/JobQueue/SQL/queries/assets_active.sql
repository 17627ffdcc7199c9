-- $1 catalog. Those under way, most recently changed first, with the bytes of transfers that have
-- no result yet, also of those that wait for their first byte: until its first result an asset is 'ready', and only a worker knows more.
WITH receiving AS (
    SELECT e.key::bigint AS asset_id, sum((e.value->>'receivedBytes')::bigint)::bigint AS bytes,
           -- Nothing is known of one that waits for its first byte.
           sum(CASE WHEN (e.value->>'transfers')::bigint > 0
                    THEN (e.value->>'expectedBytes')::bigint END)::bigint AS expected
    FROM worker w, jsonb_each(w.progress) AS e
    WHERE w.last_seen > now() - interval '15 seconds'
      AND EXISTS (SELECT FROM lease l WHERE l.worker_id = w.id AND l.expires_at > now())
    GROUP BY 1
), leased AS (
    -- Those with work in hand; bounded, because thousands of files may be.
    SELECT j.asset_id
    FROM lane n
    JOIN span p ON p.lane_id = n.id
    JOIN lease l ON l.id = p.lease_id
    CROSS JOIN LATERAL (
        SELECT * FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id OFFSET 0
    ) AS j
    WHERE n.catalog_id = $1::bigint AND j.directory_id IS NULL LIMIT 300
), active AS (
    SELECT asset_id AS id FROM leased UNION SELECT asset_id FROM receiving
)
SELECT a.id, a.name, a.url, a.kind, a.state, a.failure_code, a.failure_message, a.segments,
       a.segments_done, a.bytes + coalesce(r.bytes, 0) AS bytes,
       -- A file that is fetched in one transfer is as long as its answer says.
       coalesce(a.expected_bytes, CASE WHEN a.kind = 'file' AND a.segments = 1 THEN r.expected END)
           AS expected_bytes,
       a.retries, a.refreshed
FROM active JOIN asset a USING (id) LEFT JOIN receiving r ON r.asset_id = a.id
WHERE a.catalog_id = $1::bigint AND (a.state <> 'ready' OR r.asset_id IS NOT NULL)
ORDER BY a.changed_at DESC, a.id LIMIT 20
