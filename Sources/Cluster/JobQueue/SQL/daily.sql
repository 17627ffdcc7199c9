-- Figures of days: rows of `outcome` become rows of `daily_figure`, once. Failures that assets met become rows of
-- `outcome` when the assets have ended.

-- fragment: named
-- Sums of the rows `recorded` by day and by names. Codes that are not in the table of codes count as `other`, and so
-- does what has no catalog any more. The name of an origin is cut, because all names together are a key.
SELECT (r.recorded_at AT TIME ZONE 'UTC')::date AS day, coalesce(c.queue_id, 0) AS queue_id,
       coalesce(c.name, 'other') AS catalog,
       CASE WHEN c.id IS NULL THEN 'other' WHEN r.origin_id = 0 THEN ''
            ELSE coalesce(left(o.url, 300), 'other') END AS origin,
       CASE WHEN r.code = '' OR r.code = ANY(@codes::text[]) THEN r.code ELSE 'other' END AS code,
       sum(r.done)::bigint AS done, sum(r.failed)::bigint AS failed,
       sum(r.retries)::bigint AS retries, sum(r.bytes)::bigint AS bytes,
       sum(r.reused_bytes)::bigint AS reused_bytes, sum(r.transfer_ms)::bigint AS transfer_ms,
       sum(r.assets_completed)::bigint AS assets_completed,
       sum(r.assets_failed)::bigint AS assets_failed,
       sum(r.assets_cancelled)::bigint AS assets_cancelled, sum(r.mirrored)::bigint AS mirrored,
       sum(r.met)::bigint AS met, sum(r.recovered)::bigint AS recovered,
       sum(r.by_retry)::bigint AS by_retry, sum(r.by_mirror)::bigint AS by_mirror,
       sum(r.by_fresh_url)::bigint AS by_fresh_url,
       sum(r.without_optional)::bigint AS without_optional,
       sum(r.without_rendition)::bigint AS without_rendition, sum(r.lost)::bigint AS lost
FROM recorded r
LEFT JOIN catalog c ON c.id = r.catalog_id
LEFT JOIN origin o ON o.id = r.origin_id
GROUP BY 1, 2, 3, 4, 5

-- fragment: recoveries
-- Sums of the rows `ended`: failure codes that assets met until they ended. Those that completed though nothing was
-- done keep a sidecar whose check failed, or a person has started them again.
SELECT catalog_id, origin_id, code, count(*) AS met,
       count(*) FILTER (WHERE state = 'completed') AS recovered,
       count(*) FILTER (WHERE state = 'completed' AND remedy = 1) AS by_retry,
       count(*) FILTER (WHERE state = 'completed' AND remedy = 2) AS by_mirror,
       count(*) FILTER (WHERE state = 'completed' AND remedy = 3) AS by_fresh_url,
       count(*) FILTER (WHERE state = 'completed' AND remedy = 4) AS without_optional,
       count(*) FILTER (WHERE state = 'completed' AND remedy = 5) AS without_rendition,
       count(*) FILTER (WHERE state = 'failed' AND is_final) AS lost
FROM ended WHERE state IN ({{assetEnded}}) GROUP BY catalog_id, origin_id, code

-- name: noteFailures
-- Pairwise lanes, assets, which are locked, segments, null for manifests, failure codes, and what is done: as `remedy`
-- of asset_failure. Without an optional file its asset is complete; one that is still stored was not left out. A title
-- that may lack renditions is complete only without those that list the file.
INSERT INTO asset_failure AS f (asset_id, code, origin_id, remedy, is_final)
SELECT r.asset, r.code, min(l.origin_id),
       max(CASE WHEN r.remedy <> 0 THEN r.remedy
                WHEN s.optional THEN CASE WHEN k.segment_id IS NULL THEN 4 ELSE 0 END
                WHEN a.may_lack THEN 5 ELSE 0 END),
       bool_or(r.remedy = 0 AND s.optional IS NOT TRUE)
FROM unnest(@lanes::bigint[], @assets::bigint[], @segments::bigint[], @codes::text[],
            @remedies::int[]) AS r(lane, asset, segment, code, remedy)
JOIN lane l ON l.id = r.lane
LEFT JOIN asset a ON a.id = r.asset
LEFT JOIN segment s ON s.id = r.segment
LEFT JOIN result k ON k.segment_id = r.segment AND k.done
GROUP BY r.asset, r.code ORDER BY r.asset, r.code
ON CONFLICT (asset_id, code) DO UPDATE SET
    remedy = greatest(f.remedy, excluded.remedy), is_final = f.is_final OR excluded.is_final
WHERE excluded.remedy > f.remedy OR excluded.is_final AND NOT f.is_final

-- unprepared: foldFailures
-- The lock is held. Of up to @limit rows after those of asset @after, those of assets that ended become rows of
-- `outcome`. Those of assets that are gone, or whose files are, count no more. Answers with the last asset; null for
-- the end.
WITH page AS MATERIALIZED (
    SELECT ctid AS tid, asset_id FROM asset_failure WHERE asset_id > @after::bigint
    ORDER BY asset_id, code LIMIT @limit::int
), ended AS (
    DELETE FROM asset_failure f
    USING page p LEFT JOIN asset a ON a.id = p.asset_id
    WHERE f.ctid = p.tid
      AND (a.id IS NULL OR a.state NOT IN ({{assetUnsettled}}, {{assetInterrupted}}))
    RETURNING f.code, f.origin_id, f.remedy, f.is_final, a.catalog_id, a.state
), counted AS (
    INSERT INTO outcome (catalog_id, origin_id, code, met, recovered, by_retry, by_mirror,
                         by_fresh_url, without_optional, without_rendition, lost)
    {{recoveries}}
)
SELECT CASE WHEN count(*) = @limit::int THEN max(asset_id) END AS last FROM page

-- name: foldStarted
-- The catalog's lock is held, and failed assets of it are about to be started again: what they have met until then is
-- counted before.
WITH ended AS (
    DELETE FROM asset_failure f USING asset a
    WHERE a.id = f.asset_id AND a.catalog_id = @catalog::bigint AND a.state = 'failed'
    RETURNING f.code, f.origin_id, f.remedy, f.is_final, a.catalog_id, a.state
)
INSERT INTO outcome (catalog_id, origin_id, code, met, recovered, by_retry, by_mirror,
                     by_fresh_url, without_optional, without_rendition, lost)
{{recoveries}}

-- unprepared: tryLock
-- One coordinator at a time moves rows, so that none waits for another's row of a day.
SELECT pg_try_advisory_xact_lock(hashtextextended('dray.daily.' || current_schema(), 0)) AS locked

-- unprepared: fold
-- The lock is held. Moves up to @limit rows, whose sums the same statement adds: each counts once, whatever happens. A
-- day gets at most @max_rows rows with names, those with the most results first. What comes when it has them is counted
-- under `other`.
WITH recorded AS MATERIALIZED (
    DELETE FROM outcome WHERE ctid = ANY(ARRAY(SELECT ctid FROM outcome LIMIT @limit::int))
    RETURNING *
), named AS MATERIALIZED (
    {{named}}
), taken AS MATERIALIZED (
    SELECT day, count(*) AS rows FROM daily_figure
    WHERE queue_id <> 0 AND day IN (SELECT day FROM named) GROUP BY day
), ranked AS (
    SELECT n.*, f.day IS NOT NULL AS is_known,
           row_number() OVER (PARTITION BY n.day, f.day IS NOT NULL
                              ORDER BY n.done + n.failed + n.retries DESC, n.queue_id, n.catalog,
                                       n.origin, n.code) AS place
    FROM named n
    LEFT JOIN daily_figure f
        ON (f.day, f.queue_id, f.catalog, f.origin, f.code)
            = (n.day, n.queue_id, n.catalog, n.origin, n.code)
), placed AS (
    SELECT r.*, r.is_known OR r.place <= @max_rows::bigint - coalesce(t.rows, 0) AS fits
    FROM ranked r LEFT JOIN taken t ON t.day = r.day
), added AS (
    INSERT INTO daily_figure AS f (day, queue_id, catalog, origin, code, done, failed, retries, bytes,
                                   reused_bytes, transfer_ms, assets_completed, assets_failed,
                                   assets_cancelled, mirrored, met, recovered, by_retry,
                                   by_mirror, by_fresh_url, without_optional, without_rendition,
                                   lost)
    SELECT p.day, CASE WHEN p.fits THEN p.queue_id ELSE 0 END,
           CASE WHEN p.fits THEN p.catalog ELSE 'other' END,
           CASE WHEN p.fits THEN p.origin ELSE 'other' END, p.code,
           sum(p.done), sum(p.failed), sum(p.retries), sum(p.bytes), sum(p.reused_bytes),
           sum(p.transfer_ms), sum(p.assets_completed), sum(p.assets_failed),
           sum(p.assets_cancelled), sum(p.mirrored), sum(p.met), sum(p.recovered),
           sum(p.by_retry), sum(p.by_mirror), sum(p.by_fresh_url), sum(p.without_optional),
           sum(p.without_rendition), sum(p.lost)
    FROM placed p GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (day, queue_id, catalog, origin, code) DO UPDATE SET
        done = f.done + excluded.done, failed = f.failed + excluded.failed,
        retries = f.retries + excluded.retries, bytes = f.bytes + excluded.bytes,
        reused_bytes = f.reused_bytes + excluded.reused_bytes,
        transfer_ms = f.transfer_ms + excluded.transfer_ms,
        assets_completed = f.assets_completed + excluded.assets_completed,
        assets_failed = f.assets_failed + excluded.assets_failed,
        assets_cancelled = f.assets_cancelled + excluded.assets_cancelled,
        mirrored = f.mirrored + excluded.mirrored, met = f.met + excluded.met,
        recovered = f.recovered + excluded.recovered, by_retry = f.by_retry + excluded.by_retry,
        by_mirror = f.by_mirror + excluded.by_mirror,
        by_fresh_url = f.by_fresh_url + excluded.by_fresh_url,
        without_optional = f.without_optional + excluded.without_optional,
        without_rendition = f.without_rendition + excluded.without_rendition,
        lost = f.lost + excluded.lost
)
SELECT count(*) AS rows FROM recorded

-- unprepared: trim
DELETE FROM daily_figure
WHERE day < (statement_timestamp() AT TIME ZONE 'UTC')::date - @days::int

-- unprepared: report
-- Figures from @since to @until, both null for the last @days days, by @by: day, site, catalog, origin or code. What
-- was not moved yet counts too. @site is a queue's name or a storage URL; each filter may be null. @unaddressable are
-- codes. First the sum of all (is_total), then the groups in order, @limit of them at most.
WITH asked AS MATERIALIZED (
    SELECT coalesce(@since::date, u.last - @days::int + 1) AS first, u.last
    FROM (SELECT coalesce(@until::date, (statement_timestamp() AT TIME ZONE 'UTC')::date) AS last)
        AS u
), ended AS (
    SELECT f.code, f.origin_id, f.remedy, f.is_final, a.catalog_id, a.state
    FROM asset_failure f JOIN asset a ON a.id = f.asset_id WHERE a.state IN ({{assetEnded}})
), recorded AS MATERIALIZED (
    SELECT recorded_at, catalog_id, origin_id, code, done, failed, retries, bytes, reused_bytes,
           transfer_ms, assets_completed, assets_failed, assets_cancelled, mirrored, met, recovered,
           by_retry, by_mirror, by_fresh_url, without_optional, without_rendition, lost
    FROM outcome
    UNION ALL
    SELECT statement_timestamp(), t.catalog_id, t.origin_id, t.code, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
           t.met, t.recovered, t.by_retry, t.by_mirror, t.by_fresh_url, t.without_optional,
           t.without_rendition, t.lost
    FROM (
        {{recoveries}}
    ) AS t
), figures AS (
    SELECT * FROM daily_figure WHERE day BETWEEN (SELECT first FROM asked) AND (SELECT last FROM asked)
    UNION ALL
    SELECT * FROM (
        {{named}}
    ) AS n WHERE n.day BETWEEN (SELECT first FROM asked) AND (SELECT last FROM asked)
), chosen AS (
    SELECT CASE @by::text WHEN 'day' THEN f.day::text WHEN 'catalog' THEN f.catalog
                WHEN 'origin' THEN f.origin WHEN 'code' THEN f.code
                ELSE coalesce(q.name, 'other') END AS key,
           CASE WHEN @by = 'catalog' THEN coalesce(q.name, 'other') ELSE '' END AS queue,
           CASE WHEN @by = 'site' THEN coalesce(t.storage_url, '') ELSE '' END AS storage_url,
           f.*
    FROM figures f
    LEFT JOIN queue q ON q.id = f.queue_id
    LEFT JOIN site t ON t.id = q.site_id
    WHERE (@catalog::text IS NULL OR f.catalog = @catalog)
      AND (@site::text IS NULL OR coalesce(q.name, 'other') = @site OR t.storage_url = @site)
      AND (@origin::text IS NULL OR f.origin = left(@origin, 300))
      AND (@code::text IS NULL OR f.code = @code)
), grouped AS (
    SELECT grouping(key) = 1 AS is_total, key, queue, storage_url,
           coalesce(sum(done), 0)::bigint AS done, coalesce(sum(failed), 0)::bigint AS failed,
           coalesce(sum(failed) FILTER (WHERE code = ANY(@unaddressable::text[])), 0)::bigint
               AS unaddressable,
           coalesce(sum(retries), 0)::bigint AS retries, coalesce(sum(bytes), 0)::bigint AS bytes,
           coalesce(sum(reused_bytes), 0)::bigint AS reused_bytes,
           coalesce(sum(transfer_ms), 0)::bigint AS transfer_ms,
           coalesce(sum(assets_completed), 0)::bigint AS assets_completed,
           coalesce(sum(assets_failed), 0)::bigint AS assets_failed,
           coalesce(sum(assets_cancelled), 0)::bigint AS assets_cancelled,
           coalesce(sum(mirrored), 0)::bigint AS mirrored, coalesce(sum(met), 0)::bigint AS met,
           coalesce(sum(recovered), 0)::bigint AS recovered,
           coalesce(sum(by_retry), 0)::bigint AS by_retry,
           coalesce(sum(by_mirror), 0)::bigint AS by_mirror,
           coalesce(sum(by_fresh_url), 0)::bigint AS by_fresh_url,
           coalesce(sum(without_optional), 0)::bigint AS without_optional,
           coalesce(sum(without_rendition), 0)::bigint AS without_rendition,
           coalesce(sum(lost), 0)::bigint AS lost
    FROM chosen
    GROUP BY GROUPING SETS ((key, queue, storage_url), ())
    -- Assets have neither an origin nor a code, and what is done has no code.
    HAVING grouping(key) = 1 OR @by NOT IN ('origin', 'code')
        OR (key <> '' AND sum(done + failed + retries + mirrored + met) > 0)
)
SELECT g.*, count(*) OVER () - 1 AS groups, a.first::text AS first, a.last::text AS last
FROM grouped g, asked a
ORDER BY is_total DESC, CASE WHEN @by = 'day' THEN key END,
         CASE WHEN @by = 'code' THEN failed END DESC, failed + done DESC, retries + mirrored DESC,
         met DESC, key, queue
LIMIT @limit::bigint + 1

-- unprepared: isKnown
-- True if there is a catalog, a site and an origin of these names, each null for none: now, or in the figures.
SELECT @catalog::text IS NULL OR EXISTS (SELECT FROM catalog WHERE name = @catalog)
           OR EXISTS (SELECT FROM daily_figure WHERE catalog = @catalog) AS has_catalog,
       @site::text IS NULL OR @site = 'other'
           OR EXISTS (SELECT FROM queue q LEFT JOIN site t ON t.id = q.site_id
                      WHERE q.name = @site OR t.storage_url = @site) AS has_site,
       @origin::text IS NULL OR EXISTS (SELECT FROM origin WHERE url = @origin)
           OR EXISTS (SELECT FROM daily_figure WHERE origin = left(@origin, 300)) AS has_origin
