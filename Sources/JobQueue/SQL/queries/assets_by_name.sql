-- $1 catalog, $2 most rows, $3 name after which the page begins, or null, $4 states, $5 kind, $6 pattern of
-- failure codes, $7 pattern of names, $8 pattern of names and URLs, $9 least and $10 most bytes, each or null,
-- $11 how many assets are looked at, whether they are wanted or not. The rows carry the last name that was
-- looked at, and whether any come after it; without an asset in the page there is one row of those alone.
WITH place AS (
    SELECT coalesce($3::text, {{beginning}}) AS after
), further AS (
    SELECT (SELECT a.name FROM asset a
            WHERE a.catalog_id = $1::bigint AND a.name {{beyond}} (SELECT after FROM place)
            ORDER BY a.name {{direction}} OFFSET $11::int - 1 LIMIT 1) AS name
), bound AS (
    SELECT coalesce(name, (SELECT {{farthest}}(a.name) FROM asset a WHERE a.catalog_id = $1::bigint), '')
               AS last,
           name IS NULL AS is_end
    FROM further
)
SELECT b.last, b.is_end, p.*
FROM bound b LEFT JOIN LATERAL (
    SELECT {{assetColumns}}
    FROM asset a JOIN catalog c ON c.id = a.catalog_id
    WHERE a.name {{beyond}} (SELECT after FROM place)
      AND a.name {{before}}= (SELECT last FROM bound)
      AND {{assetsFiltered}}
    ORDER BY a.name {{direction}} LIMIT $2::int
) AS p ON true
ORDER BY p.name {{direction}}
