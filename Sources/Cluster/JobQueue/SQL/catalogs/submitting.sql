-- Submissions: sites, queues, catalogs and their assets.

-- name: sitesInBucket
-- URLs of the other sites in a bucket; @start is `s3://bucket`.
SELECT storage_url FROM site
WHERE starts_with(storage_url, @start) AND storage_url <> @storage_url
  AND substr(storage_url, length(@start) + 1, 1) IN ('', '/', '?')
ORDER BY id

-- name: nestedSites
-- URLs of the sites whose directory contains that of @storage_url, or lies in it; none for a site that has catalogs.
-- One without catalogs has no records that could contradict the other's.
SELECT t.storage_url FROM site t
WHERE (starts_with(t.storage_url, rtrim(@storage_url::text, '/') || '/')
       OR starts_with(@storage_url::text, rtrim(t.storage_url, '/') || '/'))
  AND t.storage_url <> @storage_url::text
  AND EXISTS (SELECT FROM catalog c WHERE c.site_id = t.id)
  AND NOT EXISTS (SELECT FROM site s JOIN catalog c ON c.site_id = s.id
                  WHERE s.storage_url = @storage_url::text)
ORDER BY t.id LIMIT 1

-- name: site
-- The site's number, made on first use.
INSERT INTO site (storage_url) VALUES (@storage_url)
ON CONFLICT (storage_url) DO UPDATE SET storage_url = excluded.storage_url
RETURNING id

-- name: queue
-- The site's queue. It is named @other_name where @name belongs to another site.
INSERT INTO queue (site_id, name)
VALUES (@site, CASE WHEN EXISTS (SELECT FROM queue WHERE name = @name AND site_id <> @site)
                 THEN @other_name ELSE @name END)
ON CONFLICT (site_id) DO UPDATE SET name = queue.name
RETURNING id, name, state

-- name: outsideRoots
-- The roots of the workers that are alive, when none of these may write to the site; no row
-- when one may.
SELECT roots, has_symlink FROM outside_roots(@site::bigint)

-- name: openCatalog
-- Times are in seconds since 1970, or null. Each opening is a submission of its own. What runs
-- keeps its deadline until the new submission is started.
INSERT INTO catalog (site_id, queue_id, name, priority, not_before, deadline, opened_deadline,
                     traceparent, expires_at, keep_seconds, max_fetches, fetch_seconds, max_sites,
                     asset_refresh_seconds, asset_refresh_by_origin)
VALUES (@site, @queue, @name, @priority, to_timestamp(@not_before::float8),
        to_timestamp(@deadline::float8), to_timestamp(@deadline::float8), @traceparent::text, to_timestamp(@expires_at::float8), @keep_seconds::float8,
        @max_fetches::int, @fetch_seconds::float8, @max_sites::int, @refresh_seconds::float8,
        @refresh_by_origin::bool)
ON CONFLICT (site_id, name) DO UPDATE
SET opened_generation = catalog.opened_generation + 1, priority = excluded.priority,
    not_before = excluded.not_before, opened_deadline = excluded.opened_deadline,
    opened_at = now(), traceparent = excluded.traceparent, expires_at = excluded.expires_at,
    keep_seconds = excluded.keep_seconds, max_fetches = excluded.max_fetches,
    fetch_seconds = excluded.fetch_seconds, max_sites = excluded.max_sites,
    asset_refresh_seconds = excluded.asset_refresh_seconds,
    asset_refresh_by_origin = excluded.asset_refresh_by_origin,
    deadline = CASE WHEN catalog.generation = 0 THEN excluded.deadline ELSE catalog.deadline END
RETURNING id, opened_generation

-- name: redefineTitles
-- Titles are resolved again at the next start where the options differ from before, those too that
-- are just being resolved. @key_queries are part of the options.
WITH changed AS (
    UPDATE catalog c SET title_options = @title_options::text, key_queries = @key_queries::jsonb
    FROM catalog o
    WHERE c.id = @catalog::bigint AND c.title_options IS DISTINCT FROM @title_options::text
      AND o.id = c.id
    -- A recording that is to end at another time continues.
    RETURNING c.id, o.title_options::jsonb - 'recordsUntilSeconds'
        IS DISTINCT FROM @title_options::jsonb - 'recordsUntilSeconds' AS redefines
), titles AS MATERIALIZED (
    SELECT a.id FROM asset a JOIN changed c ON c.id = a.catalog_id AND c.redefines
    WHERE a.kind <> 'file'
    ORDER BY a.id FOR UPDATE OF a
)
UPDATE asset a SET redefined = true FROM titles t WHERE a.id = t.id

-- name: stageAssets
-- Creates the table into which COPY puts a batch of assets before they are merged; one a connection, empty
-- after COMMIT.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_asset (
    position int, name text, url text, kind text, key text, expected_bytes bigint,
        expected_sha256 text,
    expected_digests text, origin text, directory text,
    -- A URL a line.
    mirrors text,
    sidecars jsonb,
    -- Times in seconds since 1970.
    not_before float8, expires_at float8, keep_seconds float8,
    title text, max_fetches int, fetch_seconds float8, max_sites int,
    refresh_seconds float8, refresh_by_origin bool, modified_at float8
) ON COMMIT DELETE ROWS

-- name: copyAssets
-- Rows in the order of the columns.
COPY staged_asset FROM STDIN

-- name: copyPlainAssets
-- Rows of assets without times, rights and refreshes, as most are: half the columns.
COPY staged_asset (position, name, url, kind, key, expected_bytes, expected_sha256,
                   expected_digests, origin, directory, mirrors, sidecars) FROM STDIN

-- name: origins
-- The origins of the staged assets, as `list` of origins.sql.
INSERT INTO origin (url, is_listed)
SELECT n.url, true FROM (
    SELECT origin AS url FROM staged_asset
    UNION
    SELECT s.origin FROM staged_asset a, jsonb_to_recordset(a.sidecars) AS s(origin text)
) AS n
WHERE NOT EXISTS (SELECT FROM origin o WHERE o.url = n.url AND o.is_listed)
ORDER BY 1
ON CONFLICT (url) DO UPDATE SET is_listed = true

-- name: directories
-- The directories of the staged assets.
INSERT INTO directory (catalog_id, site_id, path)
SELECT DISTINCT @catalog::bigint, @site::bigint, directory FROM staged_asset ORDER BY 3
ON CONFLICT (catalog_id, path) DO NOTHING

-- fragment: isFetchLimited
coalesce(s.max_fetches, c.max_fetches, t.max_fetches) IS NOT NULL

-- fragment: fetchLimits
(VALUES (s.max_fetches, s.fetch_seconds), (c.max_fetches, c.fetch_seconds),
        (t.max_fetches, t.fetch_seconds)) AS r(n, seconds)
WHERE n IS NOT NULL

-- unprepared: mergeAssets
-- An asset that is named as before keeps what is known of it. What is gone is fetched again; if @kept_generation is
-- not null, only where the list of that generation did not name it, or its entry is another one now.
WITH merged AS (
    INSERT INTO asset AS a (catalog_id, directory_id, origin_id, generation, name, url, kind, key,
                            expected_bytes, expected_sha256, expected_digests, sidecars,
                            not_before, is_waiting, expires_at, keep_seconds, title, max_fetches,
                            fetch_seconds, max_sites, refresh_seconds, refresh_at,
                            refresh_by_origin, modified_at, listed_generation, added_starts)
    SELECT @catalog::bigint, d.id, o.id, @generation::int, s.name, s.url, s.kind, s.key,
           s.expected_bytes, s.expected_sha256, s.expected_digests, s.sidecars,
           -- The strictest holds. Of its catalog's start time, which may change, lanes know.
           b.not_before, coalesce(b.not_before > now(), false),
           least(to_timestamp(s.expires_at), c.expires_at, t.expires_at),
           least(s.keep_seconds, c.keep_seconds, t.keep_seconds),
           coalesce(s.title, CASE WHEN f.counts IS NOT NULL
                    OR coalesce(s.max_sites, c.max_sites, t.max_sites) IS NOT NULL
                    THEN split_part(s.url, '?', 1) END),
           f.counts, f.seconds, least(s.max_sites, c.max_sites, t.max_sites),
           r.seconds, now() + make_interval(secs => r.seconds), r.by_origin,
           to_timestamp(s.modified_at), @generation::int, c.starts
    FROM staged_asset s
    JOIN catalog c ON c.id = @catalog::bigint
    JOIN site t ON t.id = c.site_id
    CROSS JOIN LATERAL (
        SELECT greatest(to_timestamp(s.not_before), t.not_before) AS not_before
    ) AS b
    CROSS JOIN LATERAL (
        -- Each holds.
        SELECT CASE WHEN {{isFetchLimited}} THEN (
                   SELECT array_agg(n) FROM {{fetchLimits}}) END AS counts,
               CASE WHEN {{isFetchLimited}} THEN (
                   SELECT array_agg(seconds) FROM {{fetchLimits}}) END AS seconds
    ) AS f
    CROSS JOIN LATERAL (
        SELECT coalesce(s.refresh_seconds, c.asset_refresh_seconds) AS seconds,
               CASE WHEN s.refresh_seconds IS NULL THEN c.asset_refresh_by_origin
                    ELSE s.refresh_by_origin END AS by_origin
    ) AS r
    JOIN origin o ON o.url = s.origin
    JOIN directory d ON d.catalog_id = @catalog AND d.path = s.directory
    ORDER BY s.position
    ON CONFLICT (catalog_id, name) DO UPDATE SET
        generation = excluded.generation,
        listed_generation = excluded.generation,
        added_starts = CASE WHEN a.generation < (SELECT generation FROM catalog
                                                 WHERE id = @catalog::bigint)
                            THEN excluded.added_starts ELSE a.added_starts END,
        -- Its directory changes at the start: that of before still waits for what is under way.
        origin_id = excluded.origin_id,
        url = excluded.url,
        kind = excluded.kind,
        url_changed = a.url_changed OR a.url <> excluded.url,
        key = excluded.key,
        expected_bytes = excluded.expected_bytes,
        expected_sha256 = excluded.expected_sha256,
        expected_digests = excluded.expected_digests,
        sidecars = excluded.sidecars,
        -- Its jobs wait accordingly from the start on.
        not_before = excluded.not_before,
        expires_at = excluded.expires_at, keep_seconds = excluded.keep_seconds,
        kept_until = a.completed_at + make_interval(secs => excluded.keep_seconds),
        title = excluded.title, max_fetches = excluded.max_fetches,
        fetch_seconds = excluded.fetch_seconds, max_sites = excluded.max_sites,
        wanted_at = now(),
        refresh_seconds = excluded.refresh_seconds,
        refresh_by_origin = excluded.refresh_by_origin,
        -- Assets that have changed since by the list are checked at once.
        refresh_at = CASE
            WHEN a.state = 'completed'
                AND excluded.modified_at > coalesce(a.modified_at, a.completed_at) THEN now()
            WHEN a.refresh_at <= now()
                OR (a.refresh_seconds, a.refresh_by_origin) IS NOT DISTINCT FROM
                   (excluded.refresh_seconds, excluded.refresh_by_origin)
                THEN a.refresh_at
            ELSE excluded.refresh_at END,
        modified_at = coalesce(excluded.modified_at, a.modified_at),
        sidecars_changed = a.sidecars_changed OR a.sidecars IS DISTINCT FROM excluded.sidecars,
        -- The length by the list stands with the segment, once there is one: the asset's may have been
        -- learned from the origin.
        redefined = a.redefined OR a.state IN ({{assetGone}}) AND (
                @kept_generation::int IS NULL OR a.listed_generation < @kept_generation::int
                -- Rights of the site apply to what is fetched next.
                OR (SELECT a.not_before IS DISTINCT FROM excluded.not_before
                           AND excluded.not_before IS DISTINCT FROM t.not_before
                        OR a.expires_at IS DISTINCT FROM excluded.expires_at
                           AND excluded.expires_at IS DISTINCT FROM t.expires_at
                        OR a.keep_seconds IS DISTINCT FROM excluded.keep_seconds
                           AND excluded.keep_seconds IS DISTINCT FROM t.keep_seconds
                    FROM catalog c JOIN site t ON t.id = c.site_id WHERE c.id = @catalog::bigint)
                OR CASE WHEN a.sidecars IS NOT DISTINCT FROM excluded.sidecars THEN false
                        ELSE {{sidecarsOfA}} IS DISTINCT FROM {{sidecarsOfExcluded}} END)
            -- A cache may have lost what it had: with @renews it is requested again.
            OR @renews::bool AND a.state = 'completed' OR (a.kind, a.key, a.expected_sha256, a.expected_digests)
            IS DISTINCT FROM (excluded.kind, excluded.key, excluded.expected_sha256,
                              excluded.expected_digests)
            -- Another signature makes no other object, and another token no other title.
            OR CASE WHEN a.url = excluded.url THEN false
                    WHEN excluded.kind = 'file' THEN {{objectOfA}} <> {{objectOfExcluded}}
                    ELSE {{titleOfA}} <> {{titleOfExcluded}} END
            OR excluded.kind = 'file' AND (
                SELECT CASE WHEN s.id IS NULL THEN a.expected_bytes ELSE s.expected_bytes END
                FROM (SELECT) AS one
                LEFT JOIN segment s ON s.asset_id = a.id AND s.ordinal = 0 AND s.part = 0
            ) IS DISTINCT FROM excluded.expected_bytes
    RETURNING 1
)
SELECT count(*) AS merged FROM merged

-- name: noteFound
-- Pairwise names of assets of which something is not stored, and the files that lie under their keys. Without
-- SHA-256 nothing is known: files may lie under the keys of its segments and sidecars.
INSERT INTO found_file AS f (asset_id, bytes, sha256, validator)
SELECT a.id, u.bytes, u.sha256, u.validator
FROM unnest(@names::text[], @bytes::bigint[], @sha256::text[], @validators::text[])
    AS u(name, bytes, sha256, validator)
JOIN asset a ON a.catalog_id = @catalog::bigint AND a.name = u.name
WHERE CASE WHEN a.kind = 'file'
           THEN NOT EXISTS (SELECT FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
                            WHERE s.asset_id = a.id)
           ELSE a.state <> 'completed' END
ORDER BY a.id
ON CONFLICT (asset_id) DO UPDATE SET bytes = excluded.bytes, sha256 = excluded.sha256,
    validator = excluded.validator

-- name: mergeMirrors
-- The mirrors of the assets that are staged, in place of those that they had.
WITH given AS (
    SELECT a.id, string_to_array(s.mirrors, E'\n') AS urls
    FROM staged_asset s
    JOIN asset a ON a.catalog_id = @catalog::bigint AND a.name = s.name
), gone AS (
    DELETE FROM mirror m USING given g WHERE m.asset_id = g.id AND g.urls IS NULL
), kept AS (
    INSERT INTO mirror AS m (asset_id, urls)
    SELECT id, urls FROM given WHERE urls IS NOT NULL ORDER BY id
    ON CONFLICT (asset_id) DO UPDATE SET urls = excluded.urls
        WHERE m.urls IS DISTINCT FROM excluded.urls
)
UPDATE catalog SET has_mirrors = true
WHERE id = @catalog AND NOT has_mirrors AND EXISTS (SELECT FROM staged_asset
                                                    WHERE mirrors IS NOT NULL)
