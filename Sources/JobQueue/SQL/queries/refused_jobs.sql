-- Pairwise $1 jobs, $2 their segments, null of those that read a manifest, and $3 their assets, which are locked. What
-- decides between a fresh URL and the end of those whose URLs were refused.
WITH stored AS MATERIALIZED (
    -- What no fold has counted yet counts too.
    SELECT a.id, a.segments_done + coalesce((
        SELECT sum(t.segments_done) FROM tally t
        WHERE t.catalog_id = a.catalog_id AND t.asset_id = a.id), 0) AS segments
    FROM asset a WHERE a.id = ANY($3::bigint[])
)
SELECT r.job, a.id AS asset, coalesce(s.url, a.url) AS url,
       {{leavesOut}} AS leaves_out,
       encode(sha256(convert_to(coalesce(s.url, a.url), 'UTF8')), 'hex') AS url_digest,
       coalesce(extract(epoch FROM clock_timestamp() - s.renewed_at), 1e9)::float8 AS url_seconds,
       extract(epoch FROM clock_timestamp())::float8 AS now_seconds,
       s.id IS NOT NULL AND a.kind <> 'file' AND s.ordinal < {{firstSidecar}} AS is_listed,
       a.renewing_since IS NOT NULL AS renewing, a.renewals::bigint AS renewals, n.segments::bigint AS stored,
       n.segments <> a.renewed_done AS has_stored
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS r(job, segment, asset)
JOIN asset a ON a.id = r.asset
JOIN stored n ON n.id = a.id
LEFT JOIN segment s ON s.id = r.segment
