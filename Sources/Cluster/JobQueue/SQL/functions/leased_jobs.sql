-- Reads everything that workers need for the jobs that they were granted.

-- fragment: jobsOfLeases
-- The jobs j of the leases, with their lanes and catalogs l. OFFSET 0: a lane is looked up after its span.
FROM unnest(leases, workers) WITH ORDINALITY AS named(lease, worker, place)
{{spansOfHeldLeases}}
CROSS JOIN LATERAL (
    SELECT n.origin_id, c.run_id, c.starts, c.has_mirrors, c.has_neighbours, c.title_options
    FROM lane n JOIN catalog c ON c.id = n.catalog_id
    WHERE n.id = p.lane_id AND n.queue_id = of_queue OFFSET 0
) AS l
{{jobsOfSpan}}

-- fragment: isPlain
-- A fetch of a whole object that a worker needs nothing for but its segment s. Of a catalog that was
-- started once, nothing was stored before.
j.kind = 'fetch' AND j.whole_id IS NULL AND l.starts = 1 AND NOT l.has_mirrors
    AND NOT l.has_neighbours
    AND s.role <> 'playlist'

-- name: leased_jobs
-- Reads what the jobs of that queue need that these leases hold, of the workers that name them (pairwise),
-- with the number of each one's lease. Null is the kind that nearly all jobs have: fetch. Plain fetches come
-- first, by a query of their own, which takes half the time.
--
-- OFFSET 0 has two uses here: it keeps the order of the joins whatever the statistics say, and it
-- keeps a condition on the job in front of a look-up that nearly all jobs do without. A look-up of one
-- column is a scalar subquery, which does both.
CREATE OR REPLACE FUNCTION leased_jobs(of_queue bigint, leases uuid[], workers uuid[])
RETURNS TABLE (place bigint, id bigint, asset bigint, attempt int, kind text, role text,
               url text, key text, known_bytes bigint, known_sha256 text, length bigint,
               sha256 text, digests text, range_offset bigint, multipart uuid, total_bytes bigint,
               validator text, is_whole boolean, abandoned_multipart uuid, is_rewritten boolean,
               mirrors text, mirror_origin text, known_validator text, known_verified boolean,
               stated text, asset_kind text, titles text, neighbour text, run bigint, recording text,
               object_offset bigint, left_out text)
LANGUAGE plpgsql STABLE {{plannedByIndex}} AS $$
#variable_conflict use_column
DECLARE
    plain bigint;
BEGIN
    RETURN QUERY
    SELECT named.place, j.id, j.asset_id, j.attempt + 1, NULL::text, s.role, s.url, s.key,
           s.known_bytes, s.known_sha256, s.expected_bytes, s.expected_sha256, s.expected_digests,
           NULL::bigint, NULL::uuid, NULL::bigint, NULL::text, nullif(s.is_whole, false),
           s.previous_multipart_id, NULL::boolean, s.mirrors,
           -- The origin of its lane, during a cooldown of its own.
           CASE WHEN l.origin_id <> s.origin_id
                THEN (SELECT g.url FROM origin g WHERE g.id = l.origin_id) END,
           s.known_validator, nullif(s.known_verified, false), NULL::text, NULL::text, NULL::text,
           NULL::text, l.run_id, NULL::text, s.object_offset, NULL::text
    {{jobsOfLeases}}
    CROSS JOIN LATERAL (SELECT * FROM segment WHERE id = j.segment_id OFFSET 0) AS s
    WHERE {{isPlain}};
    GET DIAGNOSTICS plain = ROW_COUNT;
    IF plain = (SELECT sum(p.jobs) FROM span p WHERE p.lease_id = ANY(leases)) THEN RETURN; END IF;
    RETURN QUERY
    SELECT named.place, j.id, j.asset_id, j.attempt + 1, nullif(j.kind, 'fetch'), s.role,
           coalesce(s.url, o.url), coalesce(o.path, s.key, o.key),
           coalesce(r.bytes, s.known_bytes), coalesce(r.sha256, s.known_sha256),
           coalesce(s.range_length, s.expected_bytes), s.expected_sha256, s.expected_digests,
           s.range_offset, o.multipart_id, o.total_bytes, o.validator, nullif(s.is_whole, false),
           CASE WHEN j.kind = 'fetch' THEN s.previous_multipart_id END,
           (SELECT true FROM rewritten_manifest
            WHERE s.role = 'playlist' AND segment_id = j.segment_id),
           -- Parts of a file come from where its first part came from; those of its sidecars are
           -- elsewhere.
           coalesce((SELECT array_to_string(urls, E'\n') FROM mirror
                     WHERE l.has_mirrors AND s.ordinal = 0 AND asset_id = j.asset_id
                       AND j.kind = 'fetch' AND j.whole_id IS NULL),
                    CASE WHEN j.kind = 'fetch' THEN s.mirrors END),
           CASE WHEN l.origin_id <> s.origin_id AND j.kind = 'fetch' AND j.whole_id IS NULL
                THEN (SELECT g.url FROM origin g WHERE g.id = l.origin_id) END,
           CASE WHEN r.sha256 IS NULL THEN s.known_validator END,
           CASE WHEN r.sha256 IS NULL THEN nullif(s.known_verified, false) END,
           o.stated, o.kind, CASE WHEN j.kind IN ({{jobOfTitle}}) THEN l.title_options END,
           -- What is in the lane of a neighbour's origin is fetched from there.
           (SELECT json_strip_nulls(json_build_object(
                       'serves', t.serves_url, 'bytes', e.bytes, 'sha256', e.sha256,
                       'validator', e.validator, 'isVerified', coalesce(e.verified, false)))::text
            FROM asset a
            CROSS JOIN LATERAL ({{storedByNeighbour}}) AS e
            JOIN site t ON t.id = e.site_id
            WHERE l.has_neighbours AND l.origin_id <> s.origin_id AND j.kind = 'fetch'
              AND j.whole_id IS NULL AND a.id = j.asset_id AND t.serves_origin_id = l.origin_id),
           l.run_id,
           CASE WHEN j.kind = 'resolve' THEN
               (SELECT json_build_object('cursor', w.cursor::json, 'isOver', w.ended_at IS NOT NULL)
                       ::text FROM recording w WHERE w.asset_id = j.asset_id) END,
           s.object_offset, CASE WHEN j.kind IN ({{jobOfTitle}}) THEN o.left_out::text END
    {{jobsOfLeases}}
    LEFT JOIN LATERAL (SELECT * FROM segment WHERE id = j.segment_id OFFSET 0) AS s ON true
    LEFT JOIN LATERAL (
        SELECT bytes, sha256 FROM result WHERE l.starts > 1 AND segment_id = j.segment_id AND done
        OFFSET 0
    ) AS r ON true
    -- Fetches of whole objects have none: the filter answers without a look.
    LEFT JOIN LATERAL (
        SELECT a.kind, a.url, a.key, a.left_out, d.path, mf.id AS multipart_id, mf.total_bytes, mf.validator,
               CASE WHEN j.kind = 'verify' THEN nullif(array_to_string(mf.digests, ','), '')
                   END AS stated
        FROM (SELECT) AS nothing
        LEFT JOIN asset a ON a.id = j.asset_id AND j.kind IN ({{jobOfAsset}})
        LEFT JOIN directory d ON d.id = j.directory_id
        LEFT JOIN multipart_file mf ON mf.segment_id = j.whole_id
        WHERE j.kind <> 'fetch' OR j.whole_id IS NOT NULL OFFSET 0
    ) AS o ON true
    WHERE ({{isPlain}}) IS NOT TRUE;
END
$$
