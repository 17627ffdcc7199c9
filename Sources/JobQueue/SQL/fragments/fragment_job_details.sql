SELECT j.id, j.kind, j.attempt, j.asset_id, c.site_id, t.storage_url, a.kind AS asset_kind,
       coalesce(s.url, a.url) AS url, coalesce(d.path, s.key, a.key) AS key, s.role,
       s.range_offset, coalesce(s.range_length, s.expected_bytes) AS length, s.expected_sha256,
       y.id AS assembly, y.total_bytes, y.validator, r.bytes AS known_bytes,
       r.sha256 AS known_sha256
FROM held j
JOIN catalog c ON c.id = j.catalog_id
JOIN site t ON t.id = c.site_id
LEFT JOIN asset a ON a.id = j.asset_id
LEFT JOIN segment s ON s.id = j.segment_id
LEFT JOIN assembly y ON y.segment_id = coalesce(s.parent_id, s.id)
LEFT JOIN result r ON r.segment_id = s.id AND r.done
LEFT JOIN directory d ON d.id = j.directory_id
ORDER BY j.priority DESC, j.available_at, j.id
