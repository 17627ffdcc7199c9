-- $1 segment, $2 bytes a part, $3 total bytes, $4 parts, $5 the job that found it large. The job
-- goes on with the first part under its lease; the others become jobs.
WITH whole AS (
    SELECT * FROM segment WHERE id = $1::bigint
), parts AS (
    INSERT INTO segment (asset_id, parent_id, origin_id, ordinal, part, role, url, key,
                         range_offset, range_length)
    SELECT w.asset_id, w.id, w.origin_id, w.ordinal, p.n, w.role, w.url, w.key,
           (p.n - 1) * $2::bigint, least($2::bigint, $3::bigint - (p.n - 1) * $2::bigint)
    FROM whole w, generate_series(1, $4::int) AS p(n)
    RETURNING id, asset_id, origin_id, part
), first AS (
    UPDATE job SET segment_id = parts.id FROM parts WHERE job.id = $5::bigint AND parts.part = 1
    RETURNING job.queue_id, job.catalog_id, job.priority
), jobs AS (
    INSERT INTO job (queue_id, catalog_id, origin_id, asset_id, segment_id, kind, priority)
    SELECT f.queue_id, f.catalog_id, p.origin_id, p.asset_id, p.id, 'fetch', f.priority
    FROM first f, parts p WHERE p.part > 1 ORDER BY p.part
), counted AS (
    UPDATE asset a SET segments = a.segments + $4::int - 1, verifies = a.verifies + 1,
        expected_bytes = CASE WHEN a.kind = 'file' THEN $3::bigint ELSE a.expected_bytes END,
        state = 'inProgress', changed_at = now()
    FROM whole w WHERE a.id = w.asset_id
    RETURNING a.catalog_id
)
UPDATE catalog c SET segments = c.segments + $4::int - 1 FROM counted n WHERE c.id = n.catalog_id
