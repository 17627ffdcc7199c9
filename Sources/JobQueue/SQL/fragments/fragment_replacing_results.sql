ORDER BY segment_id
    ON CONFLICT (segment_id) DO UPDATE SET done = true, bytes = excluded.bytes,
        sha256 = excluded.sha256, failure_code = NULL, failure_message = NULL,
        attempts = excluded.attempts, recorded_at = excluded.recorded_at
