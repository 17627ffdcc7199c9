-- $1 catalog, $2 most rows, $3 last value and $11 last number of the page before, or null; $4 to $10 as in
-- assets_by_name.sql. No index is kept on what changes with each transfer: the catalog is read once a page, for
-- numbers and values alone, which are what is sorted.
SELECT {{assetColumns}}, page.value
FROM (
    SELECT a.id, {{value}} AS value
    FROM asset a CROSS JOIN (SELECT generation FROM catalog WHERE id = $1::bigint) AS c
    WHERE ($3::bigint IS NULL OR ({{value}}, a.id) {{beyond}} ($3, $11::bigint))
      AND {{assetsFiltered}}
    ORDER BY 2 {{direction}}, 1 {{direction}} LIMIT $2::int
) AS page JOIN asset a ON a.id = page.id
ORDER BY page.value {{direction}}, page.id {{direction}}
