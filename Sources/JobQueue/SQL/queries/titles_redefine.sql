-- $1 catalog, $2 what is wanted of its titles from now on, or null. Where that is not what it was, the titles
-- are resolved anew at the next start.
WITH changed AS (
    UPDATE catalog SET title_options = $2::text
    WHERE id = $1::bigint AND title_options IS DISTINCT FROM $2::text
    RETURNING id
)
UPDATE asset a SET redefined = true FROM changed c
WHERE a.catalog_id = c.id AND a.kind <> 'file'
