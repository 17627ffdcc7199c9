-- $1 catalog. Those under way, most recently changed first.
SELECT id, name, url, kind, state, failure_code, failure_message, segments, segments_done, bytes,
       expected_bytes, retries
FROM asset
WHERE catalog_id = $1::bigint AND state IN ('resolving', 'inProgress', 'verifying')
ORDER BY changed_at DESC, id LIMIT 20
