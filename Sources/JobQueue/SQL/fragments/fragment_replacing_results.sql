ORDER BY segment_id
    ON CONFLICT (segment_id) DO UPDATE SET done = true, bytes = excluded.bytes,
        sha256 = excluded.sha256, failure_code = NULL, failure_message = NULL,
        -- What lay there already was compared when it was fetched, or not.
        verified = excluded.verified OR result.verified AND result.sha256 = excluded.sha256,
        -- What was asked for again said nothing, or nothing was asked: it is what it was.
        validator = coalesce(excluded.validator,
                             CASE WHEN result.sha256 = excluded.sha256 THEN result.validator END),
        attempts = excluded.attempts, recorded_at = excluded.recorded_at
