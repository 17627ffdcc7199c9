SELECT j.id, j.kind, j.attempt + 1, j.asset_id, c.site_id, t.storage_url, a.kind,
       coalesce(s.url, a.url), coalesce(d.path, s.key, a.key), s.role,
       s.range_offset, coalesce(s.range_length, s.expected_bytes), s.expected_sha256,
       y.id, y.total_bytes, y.validator, r.bytes, r.sha256
FROM held j
JOIN catalog c ON c.id = j.catalog_id
JOIN site t ON t.id = c.site_id
-- Only a manifest's job needs its asset: for the others the filter answers without a look.
LEFT JOIN LATERAL (
    SELECT x.kind, x.url, x.key FROM asset x WHERE x.id = j.asset_id AND j.kind = 'resolve' OFFSET 0
) AS a ON true
LEFT JOIN segment s ON s.id = j.segment_id
LEFT JOIN assembly y ON y.segment_id = j.whole_id
LEFT JOIN result r ON r.segment_id = s.id AND r.done
LEFT JOIN directory d ON d.id = j.directory_id
