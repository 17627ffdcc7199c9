-- Catalogs, assets and files as people ask for them.

-- fragment: assetsFiltered
-- Assets of the present generation that a filter lets pass.
a.catalog_id = @catalog::bigint AND a.generation >= c.generation
      AND {{inStates}}
          AND (@kind::text IS NULL OR a.kind = @kind)
      AND (@failure_code::text IS NULL OR a.failure_code LIKE @failure_code)
          AND (@name::text IS NULL OR a.name LIKE @name)
      AND (@search::text IS NULL OR a.name ILIKE @search OR a.url ILIKE @search)
      AND (@min_bytes::bigint IS NULL OR coalesce(nullif(a.bytes, 0), a.expected_bytes,
                                                  0) >= @min_bytes)
      AND (@max_bytes::bigint IS NULL OR coalesce(nullif(a.bytes, 0), a.expected_bytes,
                                                  0) <= @max_bytes)

-- unprepared: assets
-- @state may be null.
SELECT {{assetColumns}}, a.sidecars IS NOT NULL AS has_sidecars
FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE a.catalog_id = @catalog::bigint AND a.generation >= c.generation AND a.id > @after::bigint
  AND (@state::text IS NULL OR {{shownState}} = @state)
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
WITH receiving AS MATERIALIZED (
    {{receiving}}
), page AS MATERIALIZED (
    SELECT {{assetColumns}}, {{changed}}, {{receivedBytes}} AS received_bytes
    FROM (
        SELECT * FROM asset
        WHERE catalog_id = @catalog::bigint
          AND name {{beyond}} coalesce(@after::text, {{beginning}})
        ORDER BY name {{direction}} LIMIT @looked_at::int
    ) AS a
    JOIN catalog c ON c.id = a.catalog_id
    LEFT JOIN receiving r ON r.asset_id = a.id
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
WITH receiving AS MATERIALIZED (
    {{receiving}}
)
SELECT {{assetColumns}}, {{changed}}, {{receivedBytes}} AS received_bytes, page.value
FROM (
    SELECT a.id, {{value}} AS value
    FROM asset a CROSS JOIN (SELECT generation FROM catalog WHERE id = @catalog::bigint) AS c
    WHERE (@after_value::bigint IS NULL OR ({{value}}, a.id) {{beyond}} (@after_value,
            @after_asset::bigint))
      AND {{assetsFiltered}}
    ORDER BY 2 {{direction}}, 1 {{direction}} LIMIT @limit::int
) AS page JOIN asset a ON a.id = page.id LEFT JOIN receiving r ON r.asset_id = a.id
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

-- name: queues
-- Leased jobs are counted. Waiting jobs are those that running catalogs lack beyond that, because there may
-- be millions of them. Paused jobs do not wait.
SELECT q.name, t.storage_url, q.state,
       greatest(coalesce(n.lacking, 0) - coalesce(h.jobs, 0) - coalesce(p.jobs, 0), 0)::bigint
           AS waiting,
       coalesce(h.jobs, 0) AS leased, t.schedule_closed AS closed, t.bytes_per_second,
       t.fault_code, t.fault_message
FROM queue q
JOIN site t ON t.id = q.site_id
LEFT JOIN (
    SELECT c.queue_id, sum(c.segments - c.segments_done - c.segments_failed
                           + coalesce(y.lacking, 0)) AS lacking
    FROM catalog c
    LEFT JOIN (
        SELECT catalog_id, sum(segments - segments_done - segments_failed) AS lacking
        FROM tally GROUP BY catalog_id
    ) AS y ON y.catalog_id = c.id
    WHERE c.state = 'running' GROUP BY c.queue_id
) AS n ON n.queue_id = q.id
LEFT JOIN (
    SELECT l.queue_id, count(*) AS jobs
    FROM lease e
    JOIN span p ON p.lease_id = e.id
    JOIN lane l ON l.id = p.lane_id
    {{jobsOfSpan}}
    GROUP BY l.queue_id
) AS h ON h.queue_id = q.id
LEFT JOIN (
    SELECT c.queue_id, sum({{lackingSegments}}) AS jobs
    FROM catalog c JOIN asset a ON a.catalog_id = c.id
    WHERE c.state = 'running' AND {{isPaused}} GROUP BY c.queue_id
) AS p ON p.queue_id = q.id
ORDER BY q.name

-- name: setQueueState
-- raises: queue.pause, queue.resume, queue.drain
UPDATE queue SET state = @state WHERE name = @name RETURNING id
