-- $1 seconds. Catalogs with files in parts that are given up: at once where they were cancelled, else so
-- long after their assets failed, for a retry goes on with their parts.
SELECT DISTINCT a.catalog_id AS id
FROM assembly y JOIN segment s ON s.id = y.segment_id JOIN asset a ON a.id = s.asset_id
WHERE a.state IN ('failed', 'cancelled') AND (a.kind = 'file' OR a.resolved)
  AND (a.failure_code = 'worker.cancelled'
       OR a.changed_at < now() - make_interval(secs => $1::float8))
