-- Rights: when assets may begin, and until when their files are kept.

-- fragment: isDue
-- The rights of asset a have expired.
least(a.expires_at, a.kept_until) <= now() AND {{hasRights}}

-- name: expired
-- Catalogs with assets whose rights have expired: one look at the index for each with rights.
WITH RECURSIVE limited AS (
    (SELECT a.catalog_id FROM asset a WHERE {{hasRights}} ORDER BY a.catalog_id LIMIT 1)
    UNION ALL
    SELECT n.catalog_id FROM limited l CROSS JOIN LATERAL (
        SELECT a.catalog_id FROM asset a
        WHERE {{hasRights}} AND a.catalog_id > l.catalog_id ORDER BY a.catalog_id LIMIT 1
    ) AS n
)
SELECT l.catalog_id AS id FROM limited l
WHERE EXISTS (SELECT FROM asset a WHERE a.catalog_id = l.catalog_id AND {{isDue}})
ORDER BY 1

-- name: expiring
-- The catalog's lock is held. Its assets whose rights have expired, the first ones first: up to
-- @segments segments and one asset at least.
SELECT id, state FROM (
    SELECT id, state, sum(segments + 1) OVER (ORDER BY ends_at, id) - segments - 1 AS before
    FROM (
        SELECT a.id, a.state, a.segments, least(a.expires_at, a.kept_until) AS ends_at FROM asset a
        WHERE a.catalog_id = @catalog::bigint AND {{isDue}}
        ORDER BY ends_at LIMIT @segments::int
    ) AS a
) AS b WHERE before < @segments::int ORDER BY id

-- name: hasAny
-- True if files of the catalog are still to be deleted when their rights expire.
SELECT EXISTS (
    SELECT FROM asset a WHERE a.catalog_id = @catalog::bigint AND {{hasRights}}
) AS has_rights

-- name: mayBegin
-- Catalogs with assets that may begin now: one look at the index for each with assets that wait.
WITH RECURSIVE waiting AS (
    (SELECT a.catalog_id, a.not_before FROM asset a WHERE a.is_waiting
     ORDER BY a.catalog_id, a.not_before NULLS FIRST LIMIT 1)
    UNION ALL
    SELECT n.catalog_id, n.not_before FROM waiting w CROSS JOIN LATERAL (
        SELECT a.catalog_id, a.not_before FROM asset a
        WHERE a.is_waiting AND a.catalog_id > w.catalog_id
        ORDER BY a.catalog_id, a.not_before NULLS FIRST LIMIT 1
    ) AS n
)
SELECT catalog_id AS id FROM waiting WHERE coalesce(not_before <= now(), true)

-- name: beginning
-- The first of a catalog's assets that may begin now; `mayBegin` finds the rest a second later.
SELECT id FROM asset
WHERE catalog_id = @catalog::bigint AND is_waiting AND (not_before <= now() OR not_before IS NULL)
ORDER BY not_before NULLS FIRST, id LIMIT 20000

-- name: begin
-- Lets assets that may begin now wait no longer. Returns the same as `reprioritise` of selecting.sql.
UPDATE asset a SET is_waiting = false, changed_at = now()
WHERE a.catalog_id = @catalog::bigint AND a.id = ANY(@assets::bigint[]) AND a.is_waiting
RETURNING a.id, {{ownPriority}} AS own_priority

-- name: rescheduled
-- Assets of a submission that is to start whose jobs wait and should not, or the reverse.
SELECT id FROM asset
WHERE catalog_id = @catalog::bigint AND generation = @generation::int
  AND is_waiting <> coalesce(not_before > now(), false)

-- name: reschedule
-- Makes the jobs of assets wait exactly until they may begin. Returns the same as `reprioritise` of
-- selecting.sql.
UPDATE asset a SET is_waiting = NOT a.is_waiting, changed_at = now()
WHERE a.catalog_id = @catalog::bigint AND a.id = ANY(@assets::bigint[])
  AND a.is_waiting <> coalesce(a.not_before > now(), false)
RETURNING a.id, {{ownPriority}} AS own_priority

-- fragment: refused
-- Nothing is fetched for the assets `due`, with a code and a message, or its facts, each. What one
-- has stored before counts as failed.
changed AS (
    UPDATE asset a SET
        key_taken = true, state = 'failed', failure_code = n.code, failure_message = n.message,
        is_cleared = n.stored = 0 AND NOT n.is_left AND n.code = {{input.expired}},
        segments = n.stored, segments_done = 0, segments_failed = n.stored, verifies = 0,
        verifies_done = 0, verifies_failed = 0, bytes = 0, adopted_bytes = 0, retries = 0,
        refreshed = NULL, changed_at = now()
    FROM (
        SELECT e.id, e.code, e.message, (
            SELECT count(*) FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
            WHERE s.asset_id = e.id
        ) + (
            SELECT count(*) FROM previous_file f WHERE f.asset_id = e.id AND f.bytes IS NOT NULL
        ) AS stored,
        -- Files that are recorded as stored no longer.
        EXISTS (SELECT FROM unneeded_file f WHERE f.asset_id = e.id) AS is_left
        FROM due e
    ) AS n
    WHERE a.id = n.id
    RETURNING a.id, a.catalog_id, a.origin_id, a.state, a.failure_code, a.failure_message
), met AS (
    -- Reports count it as lost by the code.
    INSERT INTO asset_failure (asset_id, code, origin_id, remedy, is_final)
    SELECT id, failure_code, origin_id, 0, true FROM changed ORDER BY id
    ON CONFLICT (asset_id, code) DO UPDATE SET is_final = true
), events AS (
    {{assetEvents}}
)
SELECT count(*) AS assets FROM changed

-- unprepared: refuseExpired
-- raises: asset.refuse
-- Assets whose rights have expired; what they have stored expires next, as long as there is any.
WITH due AS MATERIALIZED (
    SELECT id, @code::text AS code, @message::text AS message FROM asset
    WHERE catalog_id = @catalog::bigint AND generation = @generation::int
      AND expires_at IS NOT NULL AND expires_at <= now() AND state IN ({{assetRefusable}})
), {{refused}}

-- unprepared: refuseContradictory
-- raises: asset.refuse
-- Assets that may begin only when their rights have expired, as their list, catalog and site contradict each other.
WITH due AS MATERIALIZED (
    SELECT a.id, @code::text AS code, @message::text AS message
    FROM asset a
    WHERE a.catalog_id = @catalog::bigint AND a.generation = @generation::int
      AND {{isContradictory}} AND a.state IN ({{assetRefusable}})
), {{refused}}

-- name: expiringBy
-- The first of the catalog's assets under way, and of those to be started, that expires by @not_before, a time in
-- seconds since 1970. One that was complete is stored already.
SELECT a.name, a.url, extract(epoch FROM a.expires_at)::float8 AS expires_at FROM asset a
WHERE a.catalog_id = @catalog::bigint AND a.state IN ({{assetUnsettled}})
  AND a.completed_at IS NULL
  AND a.expires_at > now() AND a.expires_at <= to_timestamp(@not_before::float8)
ORDER BY a.expires_at, a.name LIMIT 1

-- name: lockTitles
-- Starts of titles whose fetches or sites are limited follow each other.
SELECT pg_advisory_xact_lock(hashtextextended('dray.titles.' || current_schema(), 0))
WHERE EXISTS (
    SELECT FROM asset
    WHERE catalog_id = @catalog::bigint AND (max_fetches IS NOT NULL OR max_sites IS NOT NULL))

-- fragment: limited
-- Assets a of the submission that are about to be fetched, and whose titles are limited.
a.catalog_id = @catalog::bigint AND a.generation = @generation::int
    AND (a.max_fetches IS NOT NULL OR a.max_sites IS NOT NULL)
    AND a.state IN ({{assetRefusable}}) AND NOT a.key_taken
    AND (@assets::bigint[] IS NULL OR a.id IN (SELECT unnest(@assets::bigint[])))

-- fragment: placeOfSite
-- The identity of a site g: a cache without its POPs.
CASE WHEN starts_with(g.storage_url, 'cache:') THEN split_part(g.storage_url, '?', 1)
     ELSE g.storage_url END

-- unprepared: refuseSites
-- raises: asset.refuse
-- `lockTitles` was asked for; @assets is null for all. Assets whose titles are at as many other sites
-- as they may be: stored there, being fetched or being deleted. The same title is one of the same
-- name, or under the same key from the same URL. An edge is one site, whichever POPs its caches name.
WITH due AS MATERIALIZED (
    SELECT a.id, @code::text AS code,
           json_build_object('maxSites', json_build_object(
               'sites', n.sites, 'allowed', a.max_sites))::text AS message
    FROM asset a JOIN catalog c ON c.id = a.catalog_id
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT t.place) FILTER (WHERE t.place <> h.place) AS sites,
               coalesce(bool_or(t.place = h.place), false) AS is_here
        FROM (
            SELECT b.* FROM asset b
            WHERE hashtextextended(b.title, 0) = hashtextextended(a.title, 0) AND b.title = a.title
            UNION
            SELECT b.* FROM asset b
            WHERE hashtextextended(b.key, 0) = hashtextextended(a.key, 0) AND b.key = a.key
              AND split_part(b.url, '?', 1) = split_part(a.url, '?', 1)
        ) AS b
        JOIN catalog e ON e.id = b.catalog_id
        CROSS JOIN LATERAL (SELECT {{placeOfSite}} AS place FROM site g WHERE g.id = e.site_id) AS t
        CROSS JOIN LATERAL (SELECT {{placeOfSite}} AS place FROM site g WHERE g.id = c.site_id) AS h
        WHERE (b.state IN ({{assetHolding}}, {{assetPurging}})
               OR b.state IN ({{assetIncomplete}})
                  AND (b.segments_done > 0 OR b.failure_code = {{input.expired}} AND b.segments > 0
                       OR EXISTS (SELECT FROM unneeded_file f WHERE f.asset_id = b.id)))
    ) AS n
    WHERE {{limited}} AND a.max_sites IS NOT NULL AND n.sites >= a.max_sites AND NOT n.is_here
), {{refused}}

-- unprepared: refuseFetches
-- raises: asset.refuse
-- Rejects assets whose titles were fetched to the site as often as they may be in a period, like
-- `refuseSites`.
WITH wanted AS MATERIALIZED (
    SELECT a.id, a.title, c.site_id, r.most, r.seconds,
           row_number() OVER (PARTITION BY a.title, r.ordinal ORDER BY a.id) AS place
    FROM asset a JOIN catalog c ON c.id = a.catalog_id
    CROSS JOIN LATERAL unnest(a.max_fetches, a.fetch_seconds)
        WITH ORDINALITY AS r(most, seconds, ordinal)
    WHERE {{limited}} AND NOT a.is_fetch_counted
), due AS MATERIALIZED (
    SELECT DISTINCT ON (w.id) w.id, @code::text AS code,
           json_build_object('maxFetches', json_build_object(
               'fetches', n.fetches + w.place - 1, 'seconds', w.seconds, 'allowed', w.most))::text
               AS message
    FROM wanted w
    CROSS JOIN LATERAL (
        SELECT count(*) AS fetches FROM title_fetch f
        WHERE hashtextextended(f.title, 0) = hashtextextended(w.title, 0) AND f.title = w.title
          AND f.site_id = w.site_id
          AND f.fetched_at > now() - make_interval(secs => w.seconds)
    ) AS n
    WHERE n.fetches + w.place > w.most
    ORDER BY w.id, w.most
), {{refused}}

-- name: rejections
-- Counts the assets that a start has just rejected because of their rights, with the reason of one of them.
SELECT count(*) AS assets, min(failure_message) AS reason FROM asset
WHERE id = ANY(@assets::bigint[]) AND state = 'failed' AND failure_code = ANY(@codes::text[])

-- unprepared: countFetches
-- Counts the fetches that the start begins.
WITH counted AS (
    UPDATE asset a SET is_fetch_counted = true
    WHERE {{limited}} AND NOT a.is_fetch_counted AND a.max_fetches IS NOT NULL
    RETURNING a.title, a.catalog_id, (SELECT max(s) FROM unnest(a.fetch_seconds) AS s) AS seconds
)
INSERT INTO title_fetch (site_id, title, counts_until)
SELECT c.site_id, n.title, now() + make_interval(secs => n.seconds)
FROM counted n JOIN catalog c ON c.id = n.catalog_id
