-- $1 leases and $2 the workers that name them (pairwise), $3 queue. What the jobs need to be done that they
-- hold of that queue, with the place of each one's lease. Null is what nearly all jobs have: the kind
-- fetch, a key that is the URL without its scheme.
WITH held AS (
    -- OFFSET 0 keeps the way by index, whatever the statistics say: of a span its jobs, of a job what
    -- it lacks.
    SELECT n.place, l.catalog_id, l.origin_id, j.*
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS n(lease, worker, place)
    CROSS JOIN LATERAL (
        SELECT FROM lease WHERE id = n.lease AND worker_id = n.worker OFFSET 0
    ) AS e
    CROSS JOIN LATERAL (SELECT * FROM span WHERE lease_id = n.lease OFFSET 0) AS p
    CROSS JOIN LATERAL (
        SELECT catalog_id, origin_id FROM lane WHERE id = p.lane_id AND queue_id = $3::bigint OFFSET 0
    ) AS l
    CROSS JOIN LATERAL (
        SELECT * FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id OFFSET 0
    ) AS j
)
SELECT j.place, j.id, j.attempt + 1, j.asset_id, s.role, coalesce(s.url, o.url),
       CASE WHEN s.url IN ('http://' || s.key, 'https://' || s.key) THEN NULL
            ELSE coalesce(o.path, s.key, o.key) END,
       coalesce(s.range_length, s.expected_bytes), s.expected_sha256, nullif(j.kind, 'fetch'),
       s.range_offset, coalesce(r.bytes, s.known_bytes), coalesce(r.sha256, s.known_sha256), o.kind, o.assembly, o.total_bytes, o.validator,
       coalesce(m.urls, CASE WHEN j.kind = 'fetch' THEN s.mirrors END), s.expected_digests, s.is_whole, o.stated,
       s.former_assembly,
       t.is_stored,
       CASE WHEN j.kind IN ('resolve', 'refresh') THEN c.title_options END,
       -- In whose lane it stands, its own origin being left alone.
       CASE WHEN j.origin_id <> s.origin_id AND j.kind = 'fetch' AND j.whole_id IS NULL
            THEN (SELECT url FROM origin WHERE id = j.origin_id) END,
       CASE WHEN r.sha256 IS NULL THEN s.known_validator END,
       CASE WHEN r.sha256 IS NULL THEN nullif(s.known_verified, false) END
FROM held j
CROSS JOIN LATERAL (SELECT starts, has_mirrors, title_options FROM catalog WHERE id = j.catalog_id OFFSET 0) AS c
LEFT JOIN LATERAL (SELECT * FROM segment WHERE id = j.segment_id OFFSET 0) AS s ON true
-- Of a catalog that was started once, nothing was stored before.
LEFT JOIN LATERAL (
    SELECT bytes, sha256 FROM result WHERE c.starts > 1 AND segment_id = j.segment_id AND done
    OFFSET 0
) AS r ON true
-- Parts of a file come from where its first part came from.
LEFT JOIN LATERAL (
    SELECT array_to_string(urls, E'\n') AS urls FROM mirror
    WHERE c.has_mirrors AND asset_id = j.asset_id AND j.kind = 'fetch' AND j.whole_id IS NULL
      -- Those of its sidecars are elsewhere.
      AND s.ordinal = 0
    OFFSET 0
) AS m ON true
-- What plain fetches have none of: the filter answers without a look.
LEFT JOIN LATERAL (
    SELECT a.kind, a.url, a.key, d.path, y.id AS assembly, y.total_bytes, y.validator,
           CASE WHEN j.kind = 'verify' THEN nullif(array_to_string(y.digests, ','), '') END AS stated
    FROM (SELECT) AS nothing
    LEFT JOIN asset a ON a.id = j.asset_id AND j.kind IN ('resolve', 'refresh', 'switch')
    LEFT JOIN directory d ON d.id = j.directory_id
    LEFT JOIN assembly y ON y.segment_id = j.whole_id
    WHERE j.kind <> 'fetch' OR j.whole_id IS NOT NULL OFFSET 0
) AS o ON true
LEFT JOIN LATERAL (
    SELECT true AS is_stored FROM document WHERE s.role = 'playlist' AND segment_id = j.segment_id
    OFFSET 0
) AS t ON true
