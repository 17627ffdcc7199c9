-- $1 lanes and $2 jobs, pairwise. Of reports that a directory's SHA256SUMS was written the second one sees what the
-- first has settled. By some of the path's hash: a report may have many.
SELECT pg_advisory_xact_lock(
    hashtextextended('dray.sums.' || current_schema() || '.' || b.bucket, b.site_id))
FROM (
    SELECT DISTINCT d.site_id, hashtextextended(d.path, 0) & 31 AS bucket
    FROM unnest($1::bigint[], $2::bigint[]) AS r(lane, job)
    {{jobOfEach}}
    JOIN directory d ON d.id = j.directory_id
    ORDER BY 1, 2
) AS b
