-- Catalogs, assets and files as people ask for them.

-- fragment: assetsFiltered
-- Assets of the present generation that a filter lets pass.
a.catalog_id = @catalog::bigint AND a.generation >= c.generation
      AND (@states::text[] IS NULL OR a.state = ANY(@states))
          AND (@kind::text IS NULL OR a.kind = @kind)
      AND (@failure_code::text IS NULL OR a.failure_code LIKE @failure_code)
          AND (@name::text IS NULL OR a.name LIKE @name)
      AND (@search::text IS NULL OR a.name ILIKE @search OR a.url ILIKE @search)
      AND (@min_bytes::bigint IS NULL OR coalesce(nullif(a.bytes, 0), a.expected_bytes,
                                                  0) >= @min_bytes)
      AND (@max_bytes::bigint IS NULL OR coalesce(nullif(a.bytes, 0), a.expected_bytes,
                                                  0) <= @max_bytes)

-- name: status
-- @catalog is null for the 100 most recent. What is expected in all is an estimate: segments of
-- which nothing is known are taken to be like those that are. What reports left in tallies counts
-- too.
SELECT c.id, c.name, q.name AS queue, t.storage_url, c.state, c.generation, c.priority,
       c.traceparent,
       extract(epoch FROM c.not_before)::float8 AS not_before,
       extract(epoch FROM c.deadline)::float8 AS deadline, c.assets,
       n.assets_completed, n.assets_failed, n.assets_cancelled, n.segments, n.segments_done,
       n.segments_failed, n.bytes, n.adopted_bytes, n.retries,
       coalesce(extract(epoch FROM coalesce(c.ended_at, now()) - c.started_at), 0)::float8
           AS seconds,
       CASE WHEN f.code IS NOT NULL THEN f.code
            ELSE coalesce(y.code, r.code, x.trouble_code, b.code) END AS trouble_code,
       CASE WHEN f.code IS NOT NULL THEN 'site' WHEN y.code IS NOT NULL THEN 'roots'
            WHEN r.code IS NOT NULL THEN 'room' WHEN x.trouble_code IS NOT NULL THEN 'worker'
            WHEN b.code IS NOT NULL THEN 'origins' END AS trouble_kind,
       CASE WHEN f.code IS NOT NULL THEN t.fault_message
            ELSE coalesce(y.roots, r.message, x.trouble_message, b.url) END AS trouble_subject,
       coalesce(r.number, b.number) AS trouble_number,
       coalesce(y.has_symlink, false) AS has_symlink,
       CASE WHEN f.code IS NOT NULL THEN extract(epoch FROM now() - t.fault_since)::float8
            ELSE coalesce(y.seconds, r.seconds, x.trouble_seconds, b.seconds)
       END AS trouble_seconds,
       extract(epoch FROM c.deadline - coalesce(c.ended_at, now()))::float8 AS deadline_seconds,
       CASE WHEN c.state = 'running' AND c.pace[1] >= extract(epoch FROM c.started_at)
            THEN (extract(epoch FROM now()) - c.pace[1])::float8 END AS pace_seconds,
       n.segments_done + n.segments_failed - c.pace[2] AS pace_segments,
       n.bytes - n.adopted_bytes - c.pace[3] AS pace_bytes,
       p.received AS receiving_bytes,
       CASE WHEN n.segments_done + p.transfers > 0 THEN
           least(n.bytes + p.expected
                 + (n.bytes + p.expected) / (n.segments_done + p.transfers)
                   * greatest(n.segments - n.segments_done - n.segments_failed - p.transfers,
                              0)::numeric,
                 9e18)::bigint
       END AS expected_bytes
FROM catalog c
JOIN queue q ON q.id = c.queue_id
JOIN site t ON t.id = c.site_id
CROSS JOIN LATERAL (
    SELECT (c.assets_completed + coalesce(sum(y.assets_completed), 0))::bigint AS assets_completed,
           (c.assets_failed + coalesce(sum(y.assets_failed), 0))::bigint AS assets_failed,
           (c.assets_cancelled + coalesce(sum(y.assets_cancelled), 0))::bigint AS assets_cancelled,
           (c.segments + coalesce(sum(y.segments), 0))::bigint AS segments,
           (c.segments_done + coalesce(sum(y.segments_done), 0))::bigint AS segments_done,
           (c.segments_failed + coalesce(sum(y.segments_failed), 0))::bigint AS segments_failed,
           (c.bytes + coalesce(sum(y.bytes), 0))::bigint AS bytes,
           (c.adopted_bytes + coalesce(sum(y.adopted_bytes), 0))::bigint AS adopted_bytes,
           (c.retries + coalesce(sum(y.retries), 0))::bigint AS retries
    FROM tally y WHERE y.catalog_id = c.id
) AS n
CROSS JOIN LATERAL (
    SELECT coalesce(sum((e.value->>'receivedBytes')::bigint), 0)::bigint AS received,
           coalesce(sum((e.value->>'expectedBytes')::bigint), 0)::bigint AS expected,
           coalesce(sum((e.value->>'transfers')::bigint), 0)::bigint AS transfers
    FROM worker w, jsonb_each(w.progress) AS e
    JOIN asset a ON a.id = e.key::bigint
    WHERE w.last_seen > now() - interval '15 seconds' AND a.catalog_id = c.id
      AND c.state = 'running'
      -- One that has stopped reports nothing more, and another resumes its bytes.
      AND EXISTS (SELECT FROM lease l WHERE l.worker_id = w.id AND l.expires_at > now())
) AS p
-- Nothing of it continues while its site cannot be written.
CROSS JOIN LATERAL (SELECT CASE WHEN c.state = 'running' THEN t.fault_code END AS code) AS f
-- Nor while no worker that is heard of may write to it; since the last of them came.
LEFT JOIN LATERAL (
    SELECT 'storage.outsideRoots' AS code, o.roots, o.has_symlink,
           (SELECT extract(epoch FROM now() - max(first_seen)) FROM worker
            WHERE last_seen > now() - interval '60 seconds')::float8 AS seconds
    FROM outside_roots(t.id) AS o
    WHERE c.state = 'running'
) AS y ON true
-- Nor when all that is left waits for room.
LEFT JOIN LATERAL (
    SELECT (array_agg(d.failure_code ORDER BY d.id))[1] AS code,
           (array_agg(d.failure_message ORDER BY d.id))[1] AS message, count(*) AS number,
           greatest(extract(epoch FROM now() - min(d.available_at)) + 60, 0)::float8 AS seconds
    FROM delayed_job d
    WHERE d.catalog_id = c.id AND d.failure_code IS NOT NULL AND c.state = 'running'
    HAVING count(*) >= n.segments - n.segments_done - n.segments_failed
) AS r ON true
-- Nor while no worker that is heard of gets work.
LEFT JOIN LATERAL (
    SELECT (array_agg(w.trouble_code ORDER BY w.trouble_since DESC))[1] AS trouble_code,
           (array_agg(w.trouble_message ORDER BY w.trouble_since DESC))[1] AS trouble_message,
           extract(epoch FROM now() - max(w.trouble_since))::float8 AS trouble_seconds
    FROM worker w WHERE w.last_seen > now() - interval '60 seconds' AND c.state = 'running'
    HAVING bool_and(w.trouble_code IS NOT NULL)
) AS x ON true
-- Nor while all its origins that are still to serve something are in a cooldown: until a moment
-- after its end, so that a follower does not see the contrary between two tries, and while they are
-- tried, unless something arrives.
LEFT JOIN LATERAL (
    SELECT (array_agg(o.cooldown_reason ORDER BY o.id))[1] AS code,
           (array_agg(o.url ORDER BY o.id))[1] AS url, count(*) AS number,
           extract(epoch FROM now() - min(s.since))::float8 AS seconds
    FROM (
        SELECT l.origin_id FROM lane l
        WHERE l.queue_id = c.queue_id AND l.catalog_id = c.id AND l.origin_id <> 0
          AND (l.ready_since IS NOT NULL
               -- Or a worker holds some of it. Spans stay when all of them was done.
               OR EXISTS (SELECT FROM span p JOIN lease e ON e.id = p.lease_id
                          WHERE p.lane_id = l.id AND e.expires_at > now()
                            AND EXISTS (SELECT FROM job WHERE lane_id = p.lane_id
                                        AND id BETWEEN p.first_id AND p.last_id)))
        UNION
        SELECT origin_id FROM delayed_job WHERE catalog_id = c.id AND origin_id <> 0
    ) AS l
    JOIN origin o ON o.id = l.origin_id
    CROSS JOIN LATERAL (
        -- Since it was last well.
        SELECT coalesce(min(decided_at), o.noted_at) AS since FROM origin_decision
        WHERE origin_id = o.id AND decision = 'open' AND id > coalesce(
            (SELECT id FROM origin_decision WHERE origin_id = o.id AND decision = 'closed'
             ORDER BY id DESC LIMIT 1), 0)
    ) AS s
    WHERE c.state = 'running' AND p.received = 0
      -- Before what waits is looked through.
      AND EXISTS (SELECT FROM lane e JOIN origin u ON u.id = e.origin_id
                  WHERE e.catalog_id = c.id AND u.breaker IN ({{breakerOpen}}))
    HAVING bool_and(o.cooldown_reason IS NOT NULL
                    AND (o.breaker = 'halfOpen'
                         OR o.breaker = 'open' AND o.cooldown_until > now() - interval '2 seconds'))
) AS b ON true
-- A range, so that the one is found through the index.
WHERE c.id BETWEEN coalesce(@catalog::bigint, 0) AND coalesce(@catalog::bigint, 9223372036854775807)
ORDER BY c.id DESC LIMIT 100

-- unprepared: active
-- Those under way, most recently changed first, with the bytes of transfers that have no result
-- yet, also of those that wait for their first byte: until its first result an asset is `ready`,
-- and only a worker knows more.
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
    {{jobsOfSpan}}
    WHERE n.catalog_id = @catalog::bigint AND j.directory_id IS NULL LIMIT 300
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
WHERE a.catalog_id = @catalog::bigint AND (a.state <> 'ready' OR r.asset_id IS NOT NULL)
ORDER BY a.changed_at DESC, a.id LIMIT 20

-- unprepared: assets
-- @state may be null.
SELECT {{assetColumns}}, a.sidecars IS NOT NULL AS has_sidecars
FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE a.catalog_id = @catalog::bigint AND a.generation >= c.generation AND a.id > @after::bigint
  AND (@state::text IS NULL OR a.state = @state)
ORDER BY a.id LIMIT @limit::int

-- unprepared: missingSidecars
-- Their sidecars that failed and are not required.
SELECT s.asset_id, s.url, s.key, r.failure_code, r.failure_message
FROM segment s JOIN result r ON r.segment_id = s.id AND NOT r.done
WHERE s.asset_id = ANY(@assets::bigint[]) AND s.ordinal >= {{firstSidecar}} AND s.optional
ORDER BY s.asset_id, s.ordinal

-- fragment: changed
(extract(epoch FROM a.changed_at) * 1000000)::bigint AS changed_microseconds

-- template: assetsByName
-- A page of assets after the name @after, or null; what they are filtered by may be null each.
-- At most @looked_at assets are looked at, whether they match or not. The rows of a page that is
-- not full carry the last name that was looked at, and whether none comes after it; without an
-- asset in the page there is one row of those alone.
WITH page AS MATERIALIZED (
    SELECT {{assetColumns}}, {{changed}}
    FROM (
        SELECT * FROM asset
        WHERE catalog_id = @catalog::bigint
          AND name {{beyond}} coalesce(@after::text, {{beginning}})
        ORDER BY name {{direction}} LIMIT @looked_at::int
    ) AS a
    JOIN catalog c ON c.id = a.catalog_id
    WHERE {{assetsFiltered}}
    ORDER BY a.name {{direction}} LIMIT @limit::int
), further AS (
    SELECT (SELECT name FROM asset
            WHERE catalog_id = @catalog::bigint
              AND name {{beyond}} coalesce(@after::text, {{beginning}})
            ORDER BY name {{direction}} OFFSET @looked_at::int - 1 LIMIT 1) AS name
    WHERE (SELECT count(*) FROM page) < @limit::int
)
SELECT coalesce(f.name, '') AS last, f.name IS NULL AS is_end, p.*
FROM (SELECT) AS answer LEFT JOIN further f ON true LEFT JOIN page p ON true
ORDER BY p.name {{direction}}

-- template: assetsByValue
-- A page of assets after @after_value and @after_asset, or null; filtered as assetsByName. No index
-- is kept on what changes with each transfer: the catalog is read once a page, for numbers and
-- values alone, which are what is sorted.
SELECT {{assetColumns}}, {{changed}}, page.value
FROM (
    SELECT a.id, {{value}} AS value
    FROM asset a CROSS JOIN (SELECT generation FROM catalog WHERE id = @catalog::bigint) AS c
    WHERE (@after_value::bigint IS NULL OR ({{value}}, a.id) {{beyond}} (@after_value,
            @after_asset::bigint))
      AND {{assetsFiltered}}
    ORDER BY 2 {{direction}}, 1 {{direction}} LIMIT @limit::int
) AS page JOIN asset a ON a.id = page.id
ORDER BY page.value {{direction}}, page.id {{direction}}

-- unprepared: files
SELECT s.asset_id, s.ordinal, s.key, s.url, r.bytes, r.sha256, r.verified,
       extract(epoch FROM r.recorded_at - c.started_at)::float8 AS after_seconds
FROM asset a
JOIN catalog c ON c.id = a.catalog_id
JOIN segment s ON s.asset_id = a.id AND s.part = 0
JOIN result r ON r.segment_id = s.id AND r.done
WHERE a.catalog_id = @catalog::bigint AND a.generation >= c.generation
  AND (s.asset_id, s.ordinal) > (@after_asset::bigint, @after_ordinal::int)
      AND a.id >= @after_asset::bigint
ORDER BY s.asset_id, s.ordinal LIMIT @limit::int

-- unprepared: queues
-- What is leased is counted; what waits is what its running catalogs lack beyond that, because
-- there may be millions of it.
SELECT q.name, t.storage_url, q.state, greatest(n.lacking - coalesce(h.jobs, 0), 0) AS waiting,
       coalesce(h.jobs, 0) AS leased, t.schedule_closed AS closed, t.bytes_per_second,
       t.fault_code, t.fault_message
FROM queue q
JOIN site t ON t.id = q.site_id
CROSS JOIN LATERAL (
    SELECT (coalesce(sum(c.segments - c.segments_done - c.segments_failed), 0)
            - coalesce(sum((SELECT coalesce(sum(y.segments_done + y.segments_failed - y.segments),
                                            0)
                            FROM tally y WHERE y.catalog_id = c.id)), 0))::bigint AS lacking
    FROM catalog c WHERE c.queue_id = q.id AND c.state = 'running'
) AS n
LEFT JOIN (
    SELECT l.queue_id, count(*) AS jobs
    FROM lease e
    JOIN span p ON p.lease_id = e.id
    JOIN lane l ON l.id = p.lane_id
    {{jobsOfSpan}}
    GROUP BY l.queue_id
) AS h ON h.queue_id = q.id
ORDER BY q.name

-- name: setQueueState
UPDATE queue SET state = @state WHERE name = @name RETURNING id
