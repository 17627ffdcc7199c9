-- Eviction: assets that make room for others, and the popularity that may decide which.

-- fragment: idleCatalogs
-- Catalogs of site @site that need none of their files now: none that is interrupted or is being submitted,
-- and of those that run only what waits for deletions or for its SHA256SUMS, which may wait for room.
catalogs AS MATERIALIZED (
    SELECT c.* FROM catalog c
    WHERE c.site_id = @site::bigint AND c.opened_generation = c.generation
      AND (c.state IN ({{catalogSettled}})
           OR c.state = 'running' AND NOT EXISTS (
               SELECT FROM asset u
               WHERE u.catalog_id = c.id AND u.state IN ({{assetUnsettled}})))
)

-- fragment: evictable
-- Assets a that may make room.
a.state IN ({{assetRemovable}}) AND NOT a.is_pinned

-- fragment: decay
-- The weight of a request of popularity p that is left now.
0.5 ^ least(greatest(extract(epoch FROM now() - p.noted_at)::float8, 0) / @half_life::float8, 500)

-- fragment: served
-- Bytes that were served of asset a for each one that it has stored, of which m has the sum.
coalesce(p.bytes * {{decay}}, 0) / greatest(m.bytes, 1)

-- name: site
SELECT t.id, t.evict, starts_with(t.storage_url, 'cache:') AS is_cache
FROM site t JOIN queue q ON q.site_id = t.id
WHERE q.name = @site OR t.storage_url = @site

-- name: tryLock
-- One decision about a site at a time.
SELECT pg_try_advisory_xact_lock(hashtextextended('dray.evict.' || current_schema(), @site::bigint))
    AS locked

-- name: room
-- Sites that evict by themselves, or @site, with what shows how much room they need: files that
-- have waited for room since the last eviction, and whether the disk has been full since.
-- What is under way is read now: what was noted may be stored by now, and would count twice.
WITH {{sitesUnderWay}}
SELECT t.id, t.evict, t.is_evicting,
       coalesce(t.evicting_until > clock_timestamp(), false) AS is_removing, t.quota_bytes, coalesce(t.floor_bytes, 0) AS floor_bytes,
       t.available_bytes,
       n.used + coalesce(u.bytes, 0) - CASE WHEN e.is_freeing THEN 0 ELSE coalesce((
           -- Files whose deletion has failed, and is tried again, evict no others.
           SELECT sum(f.bytes) FROM catalog c JOIN unneeded_file f ON f.catalog_id = c.id
           WHERE c.site_id = t.id AND f.due_at < 'infinity'), 0)::bigint END AS used_bytes,
       coalesce(t.fault_code = {{storage.full}}
                AND t.fault_retry_at - make_interval(secs => least(5 * 2 ^ (t.fault_tries - 1), 60))
                    > coalesce(t.evicted_at, '-infinity'), false) AS is_full,
       w.files AS waiting_files, w.bytes AS waiting_bytes,
       coalesce(t.evict_retry_at > now(), false) AS is_postponed,
       e.is_freeing
FROM site t
LEFT JOIN under_way u ON u.site_id = t.id
CROSS JOIN LATERAL (SELECT {{storedBytes}} AS used) AS n
CROSS JOIN LATERAL (
    SELECT EXISTS (
        SELECT FROM catalog c JOIN unneeded_file f ON f.catalog_id = c.id
        WHERE c.site_id = t.id AND f.due_at < 'infinity'
          AND (f.job_id IS NOT NULL OR f.due_at <= now()
               -- Workers may still be storing files of the asset.
               OR EXISTS (SELECT FROM asset a WHERE a.id = f.asset_id AND a.is_purging
                              AND a.failure_code IS NULL))) AS is_freeing
) AS e
CROSS JOIN LATERAL (
    SELECT count(*) AS files, coalesce(max(s.expected_bytes), 0)::bigint AS bytes
    FROM catalog c JOIN delayed_job d ON d.catalog_id = c.id AND d.failure_code IS NOT NULL
    LEFT JOIN segment s ON s.id = d.segment_id
    WHERE c.site_id = t.id AND d.failure_code IN ({{storage.noRoom}}, {{storage.outgrown}})
      AND d.available_at > now()
      -- An object that is larger than the quota, or than the disk without stored files, never fits.
      AND (s.expected_bytes > t.quota_bytes) IS NOT TRUE
      AND (s.expected_bytes > n.used + t.available_bytes - coalesce(t.floor_bytes, 0)) IS NOT TRUE
      AND d.available_at - make_interval(
              secs => CASE d.failure_code WHEN {{storage.outgrown}} THEN 600 ELSE 60 END)
          > coalesce(t.evicted_at, '-infinity')
) AS w
WHERE CASE WHEN @site::bigint IS NULL THEN t.evict <> 'off' OR t.is_evicting ELSE t.id = @site END
ORDER BY t.id

-- unprepared: candidates
-- The assets that are removed first, up to @limit: until they have @bytes, of all that the site has of
-- each. That includes files that are held back, because their checks have failed, or put aside.
WITH {{idleCatalogs}}, others AS MATERIALIZED (
    SELECT asset_id, sum(bytes)::bigint AS bytes
    FROM (
        SELECT asset_id, bytes FROM unneeded_file
        WHERE site_id = @site::bigint AND due_at = 'infinity'
        UNION ALL
        SELECT f.asset_id, f.bytes
        FROM previous_file f JOIN asset a ON a.id = f.asset_id
        JOIN catalogs c ON c.id = a.catalog_id
        WHERE f.bytes IS NOT NULL
    ) AS f
    GROUP BY asset_id
)
SELECT * FROM (
    SELECT *, sum(freed_bytes) OVER (ORDER BY place) - freed_bytes AS bytes_before
    FROM (
        SELECT r.*, row_number() OVER (ORDER BY r.served, r.wanted_at, r.id) AS place
        FROM (
            SELECT a.id, a.catalog_id, c.name AS catalog, a.name, m.bytes AS freed_bytes,
                   a.wanted_at, p.requests * {{decay}} AS requests,
                   p.bytes * {{decay}} AS served_bytes,
                   CASE WHEN @by_popularity::bool THEN {{served}} ELSE 0 END AS served
            FROM asset a JOIN catalogs c ON c.id = a.catalog_id
            LEFT JOIN popularity p ON p.asset_id = a.id
            LEFT JOIN others o ON o.asset_id = a.id
            CROSS JOIN LATERAL (
                -- While an asset is not complete, `bytes` is what its last run has stored or checked.
                SELECT CASE WHEN a.state = 'completed' THEN a.bytes
                       ELSE coalesce((SELECT sum(k.bytes) FROM segment s
                                      JOIN result k ON k.segment_id = s.id AND k.done
                                      WHERE s.asset_id = a.id), 0)::bigint
                       END + coalesce(o.bytes, 0) AS bytes
            ) AS m
            WHERE {{evictable}} AND m.bytes > 0
            ORDER BY 9, a.wanted_at, a.id LIMIT @limit::int
        ) AS r
    ) AS r
) AS r
WHERE bytes_before < @bytes::bigint ORDER BY place

-- name: still
-- The lock of @catalog is held. Those of @assets that may still be removed: whose own files nothing
-- else of the site is about to need.
WITH {{idleCatalogs}}
SELECT a.id FROM asset a JOIN catalogs c ON c.id = a.catalog_id
WHERE a.id = ANY(@assets::bigint[]) AND a.catalog_id = @catalog::bigint AND {{evictable}}
  AND NOT EXISTS (
      SELECT FROM asset b JOIN catalog e ON e.id = b.catalog_id
      WHERE hashtextextended(b.key, 0) = hashtextextended(a.key, 0) AND b.key = a.key
        AND e.site_id = c.site_id AND b.id <> a.id AND b.state IN ({{assetUnsettled}}))
ORDER BY a.id

-- name: note
-- The events of assets that are evicted, each with the reason.
WITH changed AS MATERIALIZED (
    SELECT id, catalog_id, 'evicted' AS state, NULL::text AS failure_code,
           @reason::text AS failure_message
    FROM asset WHERE id = ANY(@assets::bigint[])
)
{{assetEvents}}

-- name: begin
-- For @seconds a coordinator removes assets, unless it extends that time, or has ended.
UPDATE site SET is_evicting = true, evicted_at = clock_timestamp(),
    evicting_until = clock_timestamp() + make_interval(secs => @seconds::float8)
WHERE id = @site::bigint

-- name: extend
UPDATE site SET evicting_until = clock_timestamp() + make_interval(secs => @seconds::float8)
WHERE id = @site::bigint AND is_evicting

-- name: stop
-- All is removed that is to be; workers delete its files, if any.
UPDATE site SET evicting_until = NULL, is_evicting = is_evicting AND @removed::bool
WHERE id = @site::bigint

-- name: end
-- Evicted files are deleted: jobs that wait for space are tried again at once.
WITH waiting AS (
    UPDATE delayed_job d SET available_at = now()
    FROM catalog c
    WHERE c.site_id = @site::bigint AND d.catalog_id = c.id AND d.failure_code IS NOT NULL
      AND d.available_at > now()
)
UPDATE site SET is_evicting = false, evicting_until = NULL, evicted_at = clock_timestamp(),
    fault_retry_at = CASE WHEN fault_code = {{storage.full}} AND fault_retry_at IS NOT NULL
                          THEN least(fault_retry_at, now()) ELSE fault_retry_at END
WHERE id = @site::bigint AND is_evicting

-- name: postpone
-- Nothing was found to evict: it is looked for again in a minute.
UPDATE site SET evict_retry_at = now() + interval '1 minute' WHERE id = @site::bigint

-- name: notePopularity
-- Pairwise keys of files of the site, and how often and with how many bytes they were requested, as
-- of @noted_at, at most now. Answers how many assets have these files, and how many keys are no
-- asset's.
WITH named AS MATERIALIZED (
    SELECT * FROM unnest(@keys::text[], @requests::float8[], @bytes::float8[])
        WITH ORDINALITY AS u(key, requests, bytes, place)
), found AS MATERIALIZED (
    SELECT n.place, n.requests, n.bytes, b.id AS asset_id
    FROM named n JOIN asset b ON hashtextextended(b.key, 0) = hashtextextended(n.key, 0)
        AND b.key = n.key
    JOIN catalog c ON c.id = b.catalog_id AND c.site_id = @site::bigint
    UNION
    SELECT n.place, n.requests, n.bytes, s.asset_id
    FROM named n JOIN segment s ON hashtextextended(s.key, 0) = hashtextextended(n.key, 0)
        AND s.key = n.key AND s.role <> 'file' AND s.part = 0
    JOIN asset b ON b.id = s.asset_id
    JOIN catalog c ON c.id = b.catalog_id AND c.site_id = @site::bigint
), noted AS (
    INSERT INTO popularity AS p (asset_id, requests, bytes, noted_at)
    SELECT asset_id, sum(requests), sum(bytes), least(to_timestamp(@noted_at::float8), now())
    FROM found GROUP BY asset_id ORDER BY asset_id
    ON CONFLICT (asset_id) DO UPDATE SET
        requests = p.requests * {{decayedOld}} + excluded.requests * {{decayedNew}},
        bytes = p.bytes * {{decayedOld}} + excluded.bytes * {{decayedNew}},
        noted_at = greatest(p.noted_at, excluded.noted_at)
    RETURNING 1
)
SELECT (SELECT count(*) FROM noted) AS assets,
       (SELECT count(*) FROM named n
        WHERE NOT EXISTS (SELECT FROM found f WHERE f.place = n.place)) AS unknown

-- fragment: decayedOld
0.5 ^ least(greatest(extract(epoch FROM excluded.noted_at - p.noted_at)::float8, 0)
            / @half_life::float8, 500)

-- fragment: decayedNew
0.5 ^ least(greatest(extract(epoch FROM p.noted_at - excluded.noted_at)::float8, 0)
            / @half_life::float8, 500)

-- unprepared: popularity
-- Stored assets of the site, the most popular ones first, or the least popular ones.
SELECT a.id, a.catalog_id, c.name AS catalog, a.name, a.bytes, a.is_pinned,
       extract(epoch FROM a.wanted_at)::float8 AS wanted_at,
       coalesce(p.requests * {{decay}}, 0) AS requests,
       coalesce(p.bytes * {{decay}}, 0) AS served_bytes
FROM asset a JOIN catalog c ON c.id = a.catalog_id LEFT JOIN popularity p ON p.asset_id = a.id
CROSS JOIN LATERAL (SELECT a.bytes) AS m
WHERE c.site_id = @site::bigint AND a.state NOT IN ({{assetGone}}, 'new') AND a.bytes > 0
ORDER BY CASE WHEN @is_ascending::bool THEN {{served}} ELSE -({{served}}) END,
         CASE WHEN @is_ascending::bool THEN a.wanted_at END, a.wanted_at DESC, a.id
LIMIT @limit::int
