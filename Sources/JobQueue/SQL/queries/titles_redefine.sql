-- $1 catalog, $2 what is wanted of its titles from now on, or null, $3 its key_queries, which are of that. Where that is not what it was, the titles
-- are resolved anew at the next start, those too that are just being resolved.
WITH changed AS (
    UPDATE catalog SET title_options = $2::text, key_queries = $3::jsonb
    WHERE id = $1::bigint AND title_options IS DISTINCT FROM $2::text
    RETURNING id
), titles AS MATERIALIZED (
    SELECT a.id FROM asset a JOIN changed c ON c.id = a.catalog_id WHERE a.kind <> 'file'
    ORDER BY a.id FOR UPDATE OF a
)
UPDATE asset a SET redefined = true FROM titles t WHERE a.id = t.id
