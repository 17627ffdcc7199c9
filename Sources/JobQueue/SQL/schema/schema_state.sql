-- Whose the schema that this session looks names up in is, which version it has, and whether former versions of
-- Dray left their tables in public. The search path is pinned: its first entry is the schema, as an identifier.
WITH pinned AS (
    SELECT split_part(current_setting('search_path'), ',', 1) AS name
)
SELECT n.name,
    to_regnamespace(n.name) IS NOT NULL AS is_there,
    coalesce((SELECT pg_has_role(s.nspowner, 'USAGE') FROM pg_namespace s
        WHERE s.oid = to_regnamespace(n.name)), true) AS is_own,
    coalesce((SELECT pg_get_userbyid(s.nspowner)::text FROM pg_namespace s
        WHERE s.oid = to_regnamespace(n.name)), '') AS owner,
    to_regclass(n.name || '.schema_migration') IS NOT NULL AS has_version,
    n.name = 'dray' AND coalesce((SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c
        WHERE c.oid = to_regclass('public.schema_migration')), false) AS is_in_public
FROM pinned n
