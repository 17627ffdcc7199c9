-- $1 catalog, $2 generation. Drops the jobs of assets that left the catalog, have other sidecars or
-- were redefined, and what was known of the last; of titles that is put aside. One that is refreshed is
-- whole, and was.
WITH gone AS MATERIALIZED (
    SELECT id, kind, redefined, state = 'refreshing' AND NOT redefined AS is_whole FROM asset
    WHERE catalog_id = $1 AND (redefined
        OR ((generation < $2 OR sidecars_changed) AND state IN ({{assetUnsettled}})))
    ORDER BY id FOR UPDATE
), jobs AS (
    DELETE FROM job USING gone, lane l
    WHERE l.catalog_id = $1 AND job.lane_id = l.id AND job.asset_id = gone.id
), delayed AS (
    DELETE FROM delayed_job d USING gone WHERE d.catalog_id = $1 AND d.asset_id = gone.id
), segments AS (
    DELETE FROM segment USING gone WHERE gone.redefined AND segment.asset_id = gone.id
    RETURNING segment.*, gone.kind
), results AS (
    DELETE FROM result r USING segments s WHERE r.segment_id = s.id
    RETURNING s.*, r.done, r.bytes, r.sha256, r.verified, r.validator, r.recorded_at
), files AS (
    SELECT s.asset_id, s.key, s.url, s.expected_digests, {{manifestServed}} AS manifest_sha256,
           s.bytes, s.sha256, s.verified, s.validator, s.recorded_at
    FROM results s LEFT JOIN document d ON d.segment_id = s.id AND s.role = 'playlist'
    WHERE s.kind <> 'file' AND s.part = 0 AND s.done
    UNION ALL
    -- Manifests that were never stored.
    SELECT s.asset_id, s.key, s.url, s.expected_digests, {{manifestServed}}, NULL, NULL, NULL, NULL, NULL
    FROM segments s LEFT JOIN document d ON d.segment_id = s.id
    WHERE s.kind <> 'file' AND s.part = 0 AND s.role = 'playlist'
), former AS (
    INSERT INTO former_file AS f (asset_id, key, url, expected_digests, manifest_sha256, bytes,
                                  sha256, verified, validator, stored_at)
    SELECT DISTINCT ON (asset_id, hashtextextended(key, 0)) * FROM files
    WHERE manifest_sha256 IS NOT NULL OR sha256 IS NOT NULL
    ORDER BY asset_id, hashtextextended(key, 0), recorded_at DESC NULLS LAST
    ON CONFLICT (asset_id, hashtextextended(key, 0)) DO UPDATE SET
        key = excluded.key, url = excluded.url, expected_digests = excluded.expected_digests,
        manifest_sha256 = excluded.manifest_sha256, bytes = excluded.bytes,
        sha256 = excluded.sha256, verified = excluded.verified, validator = excluded.validator,
        stored_at = excluded.stored_at
), assemblies AS (
    DELETE FROM assembly USING segments WHERE assembly.segment_id = segments.id
)
UPDATE asset a SET
    state = CASE WHEN a.redefined THEN 'new' WHEN gone.is_whole THEN 'completed' ELSE 'interrupted' END,
    directory_id = CASE WHEN NOT a.redefined THEN a.directory_id ELSE (
        SELECT d.id FROM directory d
        WHERE d.catalog_id = $1 AND d.path = regexp_replace(a.key, '/?[^/]*$', '')) END,
    redefined = false, resolved = a.resolved AND NOT a.redefined,
    segments = CASE WHEN gone.is_whole THEN a.segments ELSE 0 END,
    segments_done = CASE WHEN gone.is_whole THEN a.segments_done ELSE 0 END, segments_failed = 0,
    verifies = CASE WHEN gone.is_whole THEN a.verifies ELSE 0 END,
    verifies_done = CASE WHEN gone.is_whole THEN a.verifies_done ELSE 0 END, verifies_failed = 0,
    bytes = CASE WHEN gone.is_whole THEN a.bytes ELSE 0 END,
    adopted_bytes = CASE WHEN gone.is_whole THEN a.adopted_bytes ELSE 0 END, refreshed = NULL,
    failure_code = NULL, failure_message = NULL,
    warnings = CASE WHEN NOT a.redefined THEN a.warnings END, changed_at = now()
FROM gone WHERE a.id = gone.id
