-- Whose the schema of the setting dray.schema is, an identifier, whether it has a version, and whether it is of a Dray
-- before its first release.
-- Who owns the schema owns the functions that this session calls. So it has to be a role whose rights are this one's,
-- or who is above it in any case: the database's owner, a superuser. Or it is the one that the setting dray.owner names,
-- which only this role and those can give this role.
WITH pinned AS (
    SELECT current_setting('dray.schema') AS name
)
SELECT n.name,
    to_regnamespace(n.name) IS NOT NULL AS is_there,
    coalesce((SELECT pg_has_role(s.nspowner, 'USAGE') FROM pg_namespace s
        WHERE s.oid = to_regnamespace(n.name)), true) AS is_own,
    coalesce((SELECT pg_has_role(s.nspowner, 'USAGE') OR o.rolsuper OR o.rolname = 'pg_database_owner'
            OR coalesce(o.rolname = current_setting('dray.owner', true), false)
            OR s.nspowner = (SELECT datdba FROM pg_database WHERE datname = current_database())
        FROM pg_namespace s JOIN pg_roles o ON o.oid = s.nspowner
        WHERE s.oid = to_regnamespace(n.name)), true) AS is_trusted,
    coalesce((SELECT pg_get_userbyid(s.nspowner)::text FROM pg_namespace s
        WHERE s.oid = to_regnamespace(n.name)), '') AS owner,
    to_regclass(n.name || '.schema_migration') IS NOT NULL AS has_version,
    -- A Dray before its first release kept no checksums.
    to_regclass(n.name || '.schema_migration') IS NOT NULL AND NOT EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = to_regclass(n.name || '.schema_migration') AND attname = 'checksum'
    ) AS is_unreleased
FROM pinned n
