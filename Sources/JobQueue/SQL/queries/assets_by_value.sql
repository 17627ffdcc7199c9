-- $1 catalog, $2 most rows, $3 last value and $11 last number of the page before, or null; $4 to $10 as in
-- assets_by_name.sql. No index is kept on what changes with each transfer: the catalog is read once a page.
SELECT {{assetColumns}}, {{value}} AS value
FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE ($3::bigint IS NULL OR ({{value}}, a.id) {{beyond}} ($3, $11::bigint))
  AND {{assetsFiltered}}
ORDER BY {{value}} {{direction}}, a.id {{direction}} LIMIT $2::int
