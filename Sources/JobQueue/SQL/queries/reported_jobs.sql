-- $1 jobs in the order of their numbers, $2 their leases (pairwise), $3 worker. Those that the named
-- lease of this worker holds, locked with their assets, each in the order of numbers: the fence.
-- Whatever is missing is stale. A job is locked before its lease is compared, so that what is
-- compared is what stands when the lock is had. Its segment may be younger than this statement's
-- snapshot, when a split came first: it is then unseen.
WITH held AS MATERIALIZED (
    SELECT j.*
    FROM unnest($1::bigint[], $2::uuid[]) AS r(job, lease)
    CROSS JOIN LATERAL (
        SELECT id, kind, attempt, catalog_id, asset_id, segment_id, directory_id, lease_id
        FROM job WHERE id = r.job FOR UPDATE
    ) AS j
    JOIN lease l ON l.id = r.lease AND l.worker_id = $3::uuid
    WHERE j.lease_id = r.lease
), locked AS MATERIALIZED (
    SELECT id FROM asset WHERE id = ANY(ARRAY(SELECT asset_id FROM held))
    ORDER BY id FOR NO KEY UPDATE
)
SELECT h.id, h.kind, h.attempt, h.asset_id, h.segment_id, h.catalog_id, h.directory_id,
       s.parent_id, s.range_length, y.attempt AS whole_attempt,
       h.kind = 'fetch' AND s.id IS NULL AS is_unseen
FROM held h
LEFT JOIN segment s ON s.id = h.segment_id AND h.kind = 'fetch'
LEFT JOIN assembly y ON y.segment_id = coalesce(s.parent_id, h.segment_id)
WHERE (SELECT count(*) FROM locked) >= 0
