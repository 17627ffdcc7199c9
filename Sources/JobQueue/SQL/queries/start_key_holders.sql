-- $1 catalog, whose keys are locked, $2 generation, $3 these assets only, null for all. Refuses each asset one of whose
-- keys holds another object at the site, or is about to: of another catalog, or of what is under way or complete of
-- this one. Signatures make no other object; a token may.
WITH wanted AS NOT MATERIALIZED (
    SELECT id, name, key, url, sidecars FROM asset
    WHERE catalog_id = $1::bigint AND generation = $2::int AND state IN ({{assetRefusable}})
      AND ($3::bigint[] IS NULL OR id IN (SELECT unnest($3::bigint[])))
), claimed AS NOT MATERIALIZED (
    {{keyClaims}}
), taken AS MATERIALIZED (
    SELECT DISTINCT ON (c.id) c.id, c.key, b.url AS holder, e.name AS holder_catalog,
           e.id <> o.id AS is_other_catalog
    FROM claimed c
    -- OFFSET 0 keeps the order of the steps.
    CROSS JOIN LATERAL (
        SELECT id, catalog_id, generation, url, state FROM asset
        WHERE hashtextextended(key, 0) = hashtextextended(c.key, 0) AND key = c.key OFFSET 0
    ) AS b
    JOIN catalog e ON e.id = b.catalog_id
    JOIN catalog o ON o.id = $1::bigint AND o.site_id = e.site_id
    WHERE b.id <> c.id AND b.url <> c.url AND b.state IN ({{assetHolding}})
      AND b.generation >= CASE WHEN e.id = o.id THEN $2::int ELSE e.generation END
      AND {{objectOfB}} <> {{objectOfC}}
    ORDER BY c.id, b.id
)
{{keyRefused}}
