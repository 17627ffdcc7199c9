-- $1 catalog. The first of its assets whose last refresh failed.
SELECT {{assetColumns}}
FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE a.catalog_id = $1::bigint AND a.generation >= c.generation AND a.refreshed = 'failed'
ORDER BY a.id LIMIT {{mostRefreshFailures}}
