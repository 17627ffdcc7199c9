-- $1 catalog, $2 after, $3 most rows, $4 state or null.
SELECT a.id, a.name, a.url, a.key, a.kind, a.state, a.failure_code, a.failure_message, a.segments,
       a.segments_done, a.bytes, a.expected_bytes, a.retries, a.refreshed, a.warnings,
       a.sidecars IS NOT NULL AS has_sidecars
FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE a.catalog_id = $1::bigint AND a.generation >= c.generation AND a.id > $2::bigint
  AND ($4::text IS NULL OR a.state = $4)
ORDER BY a.id LIMIT $3::int
