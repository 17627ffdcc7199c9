-- $1 catalog, $2 generation, $3 these assets only, null for all. Of assets that are to be started and want one key for
-- different objects, refuses all but the first and those of its object. Nothing is compared where each name is its
-- asset's key, as of a list without names: names are unique.
WITH wanted AS NOT MATERIALIZED (
    SELECT id, name, key, url, sidecars FROM asset
    WHERE catalog_id = $1::bigint AND generation = $2::int AND state IN ({{assetRefusable}})
      AND NOT key_taken AND ($3::bigint[] IS NULL OR id IN (SELECT unnest($3::bigint[])))
), claimed AS NOT MATERIALIZED (
    {{keyClaims}}
), met AS MATERIALIZED (
    -- A hash of each: there may be millions.
    SELECT hashtextextended(key, 0) AS hash FROM claimed
    WHERE (SELECT EXISTS (SELECT FROM wanted WHERE name <> key OR sidecars IS NOT NULL))
    GROUP BY 1
    HAVING count(*) > 1 AND min(hashtextextended(url, 0)) <> max(hashtextextended(url, 0))
), parties AS MATERIALIZED (
    SELECT id, key, url, first_value(id) OVER (PARTITION BY key ORDER BY id) AS first_id,
           first_value(url) OVER (PARTITION BY key ORDER BY id) AS first_url
    FROM claimed WHERE hashtextextended(key, 0) IN (SELECT hash FROM met)
), taken AS MATERIALIZED (
    SELECT DISTINCT ON (c.id) c.id, c.key, b.url AS holder,
           (SELECT name FROM catalog WHERE id = $1::bigint) AS holder_catalog,
           false AS is_other_catalog
    FROM parties c
    CROSS JOIN LATERAL (SELECT c.first_url AS url) AS b
    WHERE c.id <> c.first_id AND c.url <> b.url AND {{objectOfB}} <> {{objectOfC}}
    ORDER BY c.id
)
{{keyRefused}}
