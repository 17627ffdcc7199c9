-- Files that other assets, or the same one, have stored under the same keys.

-- name: stage
-- Creates the table for files that others have stored, before they are looked up by key; one table a
-- connection.
CREATE TEMPORARY TABLE IF NOT EXISTS known_file (
    source bigint, key text, url text, expected_digests text, manifest_sha256 text, bytes bigint,
    sha256 text, verified boolean, validator text, stored_at timestamptz
) ON COMMIT DELETE ROWS;
CREATE INDEX IF NOT EXISTS known_file_key ON known_file (hashtextextended(key, 0));

-- unprepared: storedByFiles
-- Stages the files that others of the site have stored: in each directory with files that are started for the
-- first time the last four that have it, of each as many as are looked through soon enough.
WITH started AS MATERIALIZED (
    -- Each directory is decided once: without statistics the planner looks for its new files beside
    -- each file that others have stored.
    SELECT site_id, path, catalog_id FROM directory d
    WHERE d.catalog_id = @catalog::bigint
      AND EXISTS (
          SELECT FROM asset WHERE directory_id = d.id AND generation = @generation::int
              AND kind = 'file'
            AND (state = 'new' OR state = 'ready' AND changed_at = now()))
)
INSERT INTO known_file (key, url, expected_digests, bytes, sha256, verified, validator, stored_at)
SELECT t.key, t.url, t.expected_digests, r.bytes, r.sha256, r.verified, r.validator, r.recorded_at
FROM started d
CROSS JOIN LATERAL (
    SELECT id FROM directory e
    WHERE e.site_id = d.site_id AND e.path = d.path AND e.catalog_id <> d.catalog_id
    ORDER BY id DESC LIMIT 4
) AS o
CROSS JOIN LATERAL (
    SELECT id FROM asset WHERE directory_id = o.id AND kind = 'file' LIMIT 100000
) AS b
JOIN segment t ON t.asset_id = b.id AND t.part = 0
-- The origin is asked whether it is still that.
JOIN result r ON r.segment_id = t.id AND r.done AND r.validator IS NOT NULL

-- unprepared: noteFiles
-- Notes with the segments of files that are started for the first time what was stored under their keys from
-- their URLs, as staged before; the jobs look whether it is there.
WITH known AS MATERIALIZED (
    SELECT DISTINCT ON (s.id) s.id, t.bytes, t.sha256, t.verified, t.validator
    FROM directory d
    CROSS JOIN LATERAL (
        SELECT id FROM asset
        WHERE directory_id = d.id AND generation = @generation::int AND kind = 'file'
          -- Those without sidecars have their jobs by now.
          AND (state = 'new' OR state = 'ready' AND changed_at = now())
    ) AS a
    JOIN segment s ON s.asset_id = a.id AND s.part = 0
    CROSS JOIN LATERAL (
        SELECT * FROM known_file
        WHERE hashtextextended(key, 0) = hashtextextended(s.key, 0) AND key = s.key
          AND url = s.url
          -- Digests that are to be compared now were compared then.
          AND (s.expected_bytes IS NULL OR s.expected_bytes = bytes)
          AND (s.expected_sha256 IS NULL OR s.expected_sha256 = sha256)
          AND (s.expected_digests IS NULL OR s.expected_digests = expected_digests)
    ) AS t
    WHERE d.catalog_id = @catalog::bigint AND EXISTS (SELECT FROM known_file)
    ORDER BY s.id, t.stored_at DESC
)
UPDATE segment s SET known_bytes = k.bytes, known_sha256 = k.sha256, known_verified = k.verified,
    known_validator = k.validator
FROM known k WHERE s.id = k.id

-- fragment: isDescribed
-- True of the segment s whose file was read when its asset was submitted, f.
(s.ordinal = 0 AND f.sha256 <> '')

-- fragment: notingFound
-- Notes with the segments of the assets `found` what lies under their keys; without a length and a SHA-256 the
-- job looks whether anything does.
UPDATE segment s
SET known_bytes = CASE WHEN {{isDescribed}} THEN f.bytes END,
    known_sha256 = CASE WHEN {{isDescribed}} THEN f.sha256 END, known_verified = false,
    known_validator = CASE WHEN {{isDescribed}} THEN f.validator ELSE @unread::text END
FROM found f
WHERE s.asset_id = f.asset_id AND s.part = 0 AND s.expected_sha256 IS NULL
  AND s.expected_digests IS NULL
  AND CASE WHEN {{isDescribed}} THEN s.expected_bytes IS NULL OR s.expected_bytes = f.bytes
           ELSE s.known_sha256 IS NULL END

-- name: adoptFound
-- Notes what lies under the keys of files and resolved titles that are started.
WITH found AS (
    DELETE FROM found_file f USING asset a
    WHERE a.id = f.asset_id AND a.catalog_id = @catalog::bigint
      AND a.generation = @generation::int AND (a.kind = 'file' OR a.resolved)
    RETURNING f.*
)
{{notingFound}}

-- name: adoptTitle
-- Notes that files may lie under the keys of a title whose segments and sidecars are all there.
WITH found AS (
    DELETE FROM found_file WHERE asset_id = @asset::bigint RETURNING *
)
{{notingFound}}

-- name: sources
-- Assets that may know a title's files: itself, of what was put aside, and other titles of its site
-- with its manifest, the last ones that changed.
SELECT @asset::bigint AS id WHERE EXISTS (SELECT FROM previous_file WHERE asset_id = @asset::bigint)
UNION ALL
(SELECT b.id
FROM asset a
JOIN catalog c ON c.id = a.catalog_id
JOIN asset b ON hashtextextended(b.key, 0) = hashtextextended(a.key, 0) AND b.kind <> 'file'
JOIN catalog e ON e.id = b.catalog_id
WHERE a.id = @asset::bigint AND b.id <> a.id AND b.key = a.key AND b.url = a.url
  AND e.site_id = c.site_id
  AND EXISTS (
      SELECT FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
      WHERE s.asset_id = b.id)
ORDER BY b.changed_at DESC LIMIT 4)

-- name: haveResults
-- True if anything was ever reported of its segments.
SELECT EXISTS (
    SELECT FROM segment s JOIN result r ON r.segment_id = s.id WHERE s.asset_id = @asset::bigint
) AS have_results

-- name: storedByTitles
-- Stages the files that @sources have stored, with their manifests as they were served; of @asset itself
-- those that were put aside.
INSERT INTO known_file (source, key, url, expected_digests, manifest_sha256, bytes, sha256, verified,
                       validator, stored_at)
SELECT s.asset_id, s.key, s.url, s.expected_digests, {{manifestServed}}, r.bytes, r.sha256,
       r.verified, r.validator, r.recorded_at
FROM segment s
LEFT JOIN result r ON r.segment_id = s.id AND r.done
LEFT JOIN rewritten_manifest m ON m.segment_id = s.id AND s.role = 'playlist'
WHERE s.asset_id = ANY(@sources::bigint[]) AND s.asset_id <> @asset::bigint AND s.part = 0
UNION ALL
SELECT asset_id, key, url, expected_digests, manifest_sha256, bytes, sha256, verified, validator,
       stored_at
FROM previous_file WHERE asset_id = ANY(@sources::bigint[])

-- name: noteTitle
-- A title all of whose segments are there and none of which was ever reported; what others and
-- itself have stored is staged. Notes with each segment what was stored under its key from its URL.
-- Files of another title, or another choice of tracks, count only if the manifests that both have are
-- the same: media may be packaged again under the same URLs. Files that were put aside of a title that
-- is another one by now are forgotten.
WITH listed AS MATERIALIZED (
    SELECT s.id, s.key, s.url, s.expected_bytes, s.expected_sha256, s.expected_digests,
           {{manifestServed}} AS manifest_sha256
    FROM segment s LEFT JOIN rewritten_manifest m ON m.segment_id = s.id AND s.role = 'playlist'
    WHERE s.asset_id = @asset::bigint AND s.part = 0
), sources AS MATERIALIZED (
    SELECT t.source, bool_and(coalesce(t.manifest_sha256 = n.manifest_sha256, false)) AS is_same
    FROM listed n
    JOIN known_file t ON hashtextextended(t.key, 0) = hashtextextended(n.key, 0) AND t.key = n.key
        AND t.url = n.url
    WHERE n.manifest_sha256 IS NOT NULL
    GROUP BY t.source
), gone AS (
    DELETE FROM previous_file f
    WHERE f.asset_id = @asset::bigint
      AND NOT EXISTS (SELECT FROM sources o WHERE o.source = @asset::bigint AND o.is_same)
    RETURNING f.asset_id, f.key, f.bytes
), {{forgettingGone}}, unneeded AS (
    -- What was packaged again: deleted once the title is complete, and what it lists as well if it is
    -- removed before it has that.
    INSERT INTO unneeded_file (site_id, catalog_id, asset_id, key, bytes)
    SELECT c.site_id, c.id, g.asset_id, g.key, g.bytes
    FROM gone g JOIN asset a ON a.id = g.asset_id JOIN catalog c ON c.id = a.catalog_id
    WHERE g.bytes IS NOT NULL AND {{keepsFiles}}
), known AS MATERIALIZED (
    SELECT DISTINCT ON (n.id) n.id, t.bytes, t.sha256, t.verified, t.validator
    FROM listed n
    JOIN known_file t ON hashtextextended(t.key, 0) = hashtextextended(n.key, 0) AND t.key = n.key
        AND t.url = n.url
    JOIN sources o ON o.source = t.source AND o.is_same
    -- The origin is asked whether it is still that.
    WHERE t.validator IS NOT NULL
      -- Digests that are to be compared now were compared then.
      AND (n.expected_bytes IS NULL OR n.expected_bytes = t.bytes)
      AND (n.expected_sha256 IS NULL OR n.expected_sha256 = t.sha256)
      AND (n.expected_digests IS NULL OR n.expected_digests = t.expected_digests)
    ORDER BY n.id, t.stored_at DESC
)
UPDATE segment s SET known_bytes = k.bytes, known_sha256 = k.sha256, known_verified = k.verified,
    known_validator = k.validator
FROM known k WHERE s.id = k.id
