-- $1 segment, $2 bytes a part, $3 total bytes, $4 parts, $5 the lane and $6 the number of
-- the job that found it large. The job goes on with the first part under its lease; the others
-- become jobs, to be tried alone as it is.
WITH whole AS (
    SELECT * FROM segment WHERE id = $1::bigint
), parts AS (
    INSERT INTO segment (asset_id, parent_id, origin_id, ordinal, part, role, url, key,
                         range_offset, range_length, renewed_at)
    SELECT w.asset_id, w.id, w.origin_id, w.ordinal, p.n, w.role, w.url, w.key,
           (p.n - 1) * $2::bigint, least($2::bigint, $3::bigint - (p.n - 1) * $2::bigint),
           w.renewed_at
    FROM whole w, generate_series(1, $4::int) AS p(n)
    RETURNING id, asset_id, origin_id, part
), first AS (
    UPDATE job SET segment_id = parts.id, whole_id = $1::bigint
    FROM parts WHERE job.lane_id = $5::bigint AND job.id = $6::bigint AND parts.part = 1
    RETURNING job.lane_id
), jobs AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             segment_id, whole_id, kind)
    SELECT l.queue_id, l.catalog_id, p.origin_id,
           CASE WHEN l.rank = 4 THEN 4 ELSE 1 END, coalesce(a.priority, -1), p.asset_id, p.id,
           $1::bigint, 'fetch'
    FROM first f JOIN lane l ON l.id = f.lane_id, parts p JOIN asset a ON a.id = p.asset_id
    WHERE p.part > 1 ORDER BY p.part
), counted AS (
    UPDATE asset a SET segments = a.segments + $4::int - 1, verifies = a.verifies + 1,
        -- Not of one that was named anew: the length is that of the object it was before.
        expected_bytes = CASE WHEN a.kind = 'file' AND NOT a.redefined THEN $3::bigint
                              ELSE a.expected_bytes END,
        state = 'inProgress', changed_at = now()
    FROM whole w WHERE a.id = w.asset_id
    RETURNING a.catalog_id
)
INSERT INTO tally (catalog_id, segments) SELECT catalog_id, $4::int - 1 FROM counted
