-- Keys that are claimed for different objects of one site.

-- fragment: keyClaims
-- The keys that the assets `wanted` claim, for themselves and their sidecars.
    SELECT w.id, w.key, w.url FROM wanted w
    UNION ALL
    SELECT w.id, s.key, s.url
    FROM wanted w
    CROSS JOIN LATERAL jsonb_to_recordset(w.sidecars) AS s(url text, key text)
    WHERE w.sidecars IS NOT NULL

-- fragment: keyRefused
-- Rejects the assets that `taken` names. There may be millions, so their messages are the facts of
-- which readers compose them (`RecordedMessage`).
, changed AS (
    UPDATE asset a SET
        key_taken = true, state = 'failed', failure_code = {{storage.pathConflict}},
        -- Nothing that may be a secret: a key has a token where an operator keeps that.
        failure_message = json_build_object('keyTaken', json_build_object(
            'key', left(regexp_replace(t.key, '[?].*$', '?…'), 300),
            'holder', left(regexp_replace(regexp_replace(t.holder, '[?#].*$', '?…'),
                                          '{{tokenInPath}}', '\1…', 'gi'), 300),
            'catalog', t.holder_catalog, 'isOther', t.is_other_catalog))::text,
        segments = 0, segments_done = 0, segments_failed = 0, verifies = 0, verifies_done = 0,
        verifies_failed = 0, bytes = 0, adopted_bytes = 0, retries = 0, refreshed = NULL,
        changed_at = now()
    FROM taken t WHERE a.id = t.id AND a.state IN ({{assetRefusable}})
    RETURNING a.id, a.catalog_id, a.state, a.failure_code, a.failure_message
)
{{assetEvents}}

-- name: lock
-- Locks the directories of keys, so that the second of two starts that may want the same keys of a site sees
-- the first one's. The locks are by some bits of a directory's hash: a catalog may have many directories.
SELECT pg_advisory_xact_lock(
    hashtextextended('dray.keys.' || current_schema() || '.' || b.bucket, b.site_id))
FROM (
    SELECT DISTINCT site_id, hashtextextended(path, 0) & 31 AS bucket FROM directory
    WHERE catalog_id = @catalog::bigint
    ORDER BY 2
) AS b

-- name: free
-- Keys that were rejected are checked again.
UPDATE asset SET key_taken = false
WHERE catalog_id = @catalog::bigint AND generation = @generation::int AND key_taken

-- unprepared: refuseHeld
-- raises: asset.refuse
-- The catalog's keys are locked; @assets is null for all. Rejects each asset one of whose keys
-- holds another object at the site, or is about to: of another catalog, or of what is under way or
-- complete of this one. Signatures make no other object; a token may.
WITH wanted AS NOT MATERIALIZED (
    SELECT id, name, key, url, sidecars FROM asset
    WHERE catalog_id = @catalog::bigint AND generation = @generation::int
        AND state IN ({{assetRefusable}})
      AND (@assets::bigint[] IS NULL OR id IN (SELECT unnest(@assets::bigint[])))
), claimed AS NOT MATERIALIZED (
    {{keyClaims}}
), taken AS MATERIALIZED (
    SELECT DISTINCT ON (c.id) c.id, c.key, b.url AS holder, e.name AS holder_catalog,
           e.id <> o.id AS is_other_catalog
    FROM claimed c
    JOIN asset b ON hashtextextended(b.key, 0) = hashtextextended(c.key, 0) AND b.key = c.key
    JOIN catalog e ON e.id = b.catalog_id
    JOIN catalog o ON o.id = @catalog::bigint AND o.site_id = e.site_id
    WHERE b.id <> c.id AND b.url <> c.url AND b.state IN ({{assetHolding}})
      AND b.generation >= CASE WHEN e.id = o.id THEN @generation::int ELSE e.generation END
      AND {{objectOfB}} <> {{objectOfC}}
    ORDER BY c.id, b.id
)
{{keyRefused}}

-- unprepared: refuseRivals
-- raises: asset.refuse
-- @assets is null for all. Of assets that are to be started and want one key for different objects,
-- rejects all but the first and those of its object. Nothing is compared where each name is its
-- asset's key, as of a list without names: names are unique.
WITH wanted AS NOT MATERIALIZED (
    SELECT id, name, key, url, sidecars FROM asset
    WHERE catalog_id = @catalog::bigint AND generation = @generation::int
        AND state IN ({{assetRefusable}})
      AND NOT key_taken AND (@assets::bigint[] IS NULL OR id IN (SELECT unnest(@assets::bigint[])))
), claimed AS NOT MATERIALIZED (
    {{keyClaims}}
), met AS MATERIALIZED (
    -- A hash of each: there may be millions.
    SELECT hashtextextended(key, 0) AS hash FROM claimed
    WHERE (SELECT EXISTS (SELECT FROM wanted WHERE name <> key OR sidecars IS NOT NULL))
    GROUP BY 1
    HAVING count(*) > 1 AND min(hashtextextended(url, 0)) <> max(hashtextextended(url, 0))
), parties AS MATERIALIZED (
    SELECT id, key, url, first_value(id) OVER (PARTITION BY key ORDER BY id) AS first_id,
           first_value(url) OVER (PARTITION BY key ORDER BY id) AS first_url
    FROM claimed WHERE hashtextextended(key, 0) IN (SELECT hash FROM met)
), taken AS MATERIALIZED (
    SELECT DISTINCT ON (c.id) c.id, c.key, b.url AS holder,
           (SELECT name FROM catalog WHERE id = @catalog::bigint) AS holder_catalog,
           false AS is_other_catalog
    FROM parties c
    CROSS JOIN LATERAL (SELECT c.first_url AS url) AS b
    WHERE c.id <> c.first_id AND c.url <> b.url AND {{objectOfB}} <> {{objectOfC}}
    ORDER BY c.id
)
{{keyRefused}}

-- name: resolvedHolder
-- A title's segments and sidecars from ordinal @first on are all there. The first of their keys that holds
-- another object at the site, or is about to, as an asset's own.
SELECT c.key, b.url AS holder, e.name AS holder_catalog, e.id <> o.id AS is_other_catalog
FROM asset a
JOIN catalog o ON o.id = a.catalog_id
JOIN segment c ON c.asset_id = a.id AND c.part = 0 AND c.ordinal >= @first::int
-- OFFSET 0: a join hashes all assets of the database for those of one title.
CROSS JOIN LATERAL (
    SELECT id, catalog_id, generation, url, state FROM asset
    WHERE hashtextextended(key, 0) = hashtextextended(c.key, 0) AND key = c.key OFFSET 0
) AS b
JOIN catalog e ON e.id = b.catalog_id AND e.site_id = o.site_id
WHERE a.id = @asset::bigint AND b.id <> a.id AND b.url <> c.url AND b.state IN ({{assetHolding}})
  AND b.generation >= CASE WHEN e.id = o.id THEN a.generation ELSE e.generation END
  AND {{objectOfHolder}} <> {{objectOfSegment}}
LIMIT 1
