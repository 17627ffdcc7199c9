recorded AS (
    INSERT INTO result (segment_id, done, bytes, sha256, failure_code, failure_message, attempts,
                        verified, validator)
    SELECT segment_id, done, bytes, sha256, code, message, attempt + 1, verified, validator
    FROM settled
    ORDER BY segment_id
    ON CONFLICT (segment_id) DO UPDATE SET done = excluded.done, bytes = excluded.bytes,
        sha256 = excluded.sha256, failure_code = excluded.failure_code,
        verified = excluded.verified OR result.verified AND result.sha256 = excluded.sha256,
        -- What was asked for again said nothing, or nothing was asked: it is what it was.
        validator = coalesce(excluded.validator,
                             CASE WHEN result.sha256 = excluded.sha256 THEN result.validator END),
        failure_message = excluded.failure_message, attempts = excluded.attempts,
        recorded_at = excluded.recorded_at
), counts AS (
    SELECT asset_id, count(*) FILTER (WHERE done) AS done,
           count(*) FILTER (WHERE NOT done AND NOT spared) AS failed,
           -- Sidecars that the asset does without.
           count(*) FILTER (WHERE spared) AS spared,
           coalesce(sum(bytes) FILTER (WHERE done), 0) AS bytes,
           coalesce(sum(bytes) FILTER (WHERE done AND adopted), 0) AS adopted_bytes,
           bool_or(code = 'manifest.changed') AS changed,
           (array_agg(code) FILTER (WHERE NOT done AND NOT spared))[1] AS code,
           (array_agg(message) FILTER (WHERE NOT done AND NOT spared))[1] AS message
    FROM (
        SELECT *, CASE WHEN done THEN false ELSE coalesce(
            (SELECT g.optional FROM segment g WHERE g.id = settled.segment_id), false)
            END AS spared
        FROM settled
    ) AS settled
    GROUP BY asset_id ORDER BY asset_id
), rolled AS (
    UPDATE asset a SET
        segments = a.segments - t.spared,
        segments_done = a.segments_done + t.done,
        segments_failed = a.segments_failed + t.failed,
        bytes = a.bytes + t.bytes,
        adopted_bytes = a.adopted_bytes + t.adopted_bytes,
        -- What the manifest said no longer holds: the next start reads it anew.
        resolved = a.resolved AND t.changed IS NOT TRUE,
        failure_code = coalesce(a.failure_code, t.code),
        failure_message = CASE WHEN a.failure_code IS NULL
                               THEN t.message ELSE a.failure_message END,
        state = CASE
            WHEN a.segments_done + a.segments_failed + t.done + t.failed + t.spared < a.segments
                THEN 'inProgress'
            WHEN a.verifies_done + a.verifies_failed < a.verifies THEN 'verifying'
            WHEN a.segments_failed + t.failed + a.verifies_failed > 0 THEN 'failed'
            ELSE 'completed' END,
        changed_at = now()
    FROM counts t WHERE a.id = t.asset_id
    RETURNING a.catalog_id, a.directory_id, a.state, t.done, t.failed, t.spared,
              t.bytes, t.adopted_bytes
), tallied AS (
    INSERT INTO tally (catalog_id, directory_id, assets_completed, assets_failed, segments,
                       segments_done, segments_failed, bytes, adopted_bytes)
    SELECT catalog_id, directory_id, count(*) FILTER (WHERE state = 'completed'),
           count(*) FILTER (WHERE state = 'failed'), -sum(spared), sum(done), sum(failed), sum(bytes),
           sum(adopted_bytes)
    FROM rolled GROUP BY catalog_id, directory_id
)
