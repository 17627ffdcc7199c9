-- $1 catalog, $2 site.
INSERT INTO directory (catalog_id, site_id, path)
SELECT DISTINCT $1::bigint, $2::bigint, directory FROM staged_asset ORDER BY 3
ON CONFLICT (catalog_id, path) DO NOTHING
