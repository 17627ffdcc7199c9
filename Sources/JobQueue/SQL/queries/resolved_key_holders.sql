-- $1 asset, a title whose segments and sidecars are all there. The first of their keys that holds another object at
-- the site, or is about to, as an asset's own.
SELECT c.key, b.url AS holder, e.name AS holder_catalog, e.id <> o.id AS is_other_catalog
FROM asset a
JOIN catalog o ON o.id = a.catalog_id
JOIN segment c ON c.asset_id = a.id AND c.part = 0
-- OFFSET 0 keeps the order of the steps.
CROSS JOIN LATERAL (
    SELECT id, catalog_id, generation, url, state FROM asset
    WHERE hashtextextended(key, 0) = hashtextextended(c.key, 0) AND key = c.key OFFSET 0
) AS b
JOIN catalog e ON e.id = b.catalog_id AND e.site_id = o.site_id
WHERE a.id = $1::bigint AND b.id <> a.id AND b.url <> c.url AND b.state IN ({{assetHolding}})
  AND b.generation >= CASE WHEN e.id = o.id THEN a.generation ELSE e.generation END
  AND {{objectOfHolder}} <> {{objectOfSegment}}
LIMIT 1
