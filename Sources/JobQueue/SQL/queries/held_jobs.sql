-- $1 jobs. As reported_jobs, for jobs whose lease ran out (the sweep has ended the lease itself).
WITH held AS MATERIALIZED (
    SELECT id, kind, attempt, catalog_id, asset_id, segment_id, directory_id FROM job
    WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE
), locked AS MATERIALIZED (
    SELECT id FROM asset WHERE id = ANY(ARRAY(SELECT asset_id FROM held))
    ORDER BY id FOR NO KEY UPDATE
)
SELECT h.id, h.kind, h.attempt, h.asset_id, h.segment_id, h.catalog_id, h.directory_id,
       s.parent_id, s.range_length, y.attempt AS whole_attempt
FROM held h
LEFT JOIN segment s ON s.id = h.segment_id AND h.kind = 'fetch'
LEFT JOIN assembly y ON y.segment_id = coalesce(s.parent_id, h.segment_id)
WHERE (SELECT count(*) FROM locked) >= 0
