-- $1 catalog. Of starts that may want the same keys of a site the second one sees what the first has taken. By some
-- of a directory's hash: a catalog may have many.
SELECT pg_advisory_xact_lock(
    hashtextextended('dray.keys.' || current_schema() || '.' || b.bucket, b.site_id))
FROM (
    SELECT DISTINCT site_id, hashtextextended(path, 0) & 31 AS bucket FROM directory
    WHERE catalog_id = $1::bigint
    ORDER BY 2
) AS b
