a.id, a.name, a.url, a.key, a.kind, a.state, a.failure_code, a.failure_message, a.segments,
       a.segments_done, a.bytes, a.expected_bytes, a.retries, a.refreshed, a.warnings,
       (extract(epoch FROM a.changed_at) * 1000000)::bigint AS changed_microseconds
