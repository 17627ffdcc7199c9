-- $1 jobs, $2 leases (pairwise), $3 worker. Those that the named lease of this worker holds, locked
-- with their assets, each in the order of numbers: the fence. Whatever is missing is stale.
WITH held AS MATERIALIZED (
    SELECT j.id, j.kind, j.attempt, j.queue_id, j.catalog_id, j.origin_id, j.asset_id,
           j.segment_id, j.directory_id, j.priority
    FROM job j
    JOIN unnest($1::bigint[], $2::uuid[]) AS r(job, lease) ON j.id = r.job
    JOIN lease l ON l.id = r.lease AND l.worker_id = $3::uuid
    WHERE j.lease_id = r.lease
    ORDER BY j.id FOR UPDATE OF j
), locked AS MATERIALIZED (
    SELECT id FROM asset WHERE id IN (SELECT asset_id FROM held) ORDER BY id FOR NO KEY UPDATE
)
SELECT h.id, h.kind, h.attempt, h.asset_id, h.segment_id, h.catalog_id, h.directory_id,
       s.parent_id, s.range_length, y.attempt AS whole_attempt
FROM held h
LEFT JOIN locked a ON a.id = h.asset_id
LEFT JOIN segment s ON s.id = h.segment_id AND h.kind = 'fetch'
LEFT JOIN assembly y ON y.segment_id = coalesce(s.parent_id, h.segment_id)
