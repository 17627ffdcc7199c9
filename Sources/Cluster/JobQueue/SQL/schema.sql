-- The schema and its migrations.

-- name: lock
-- Keeps other migrations of this schema from running until the transaction ends, waiting for
-- `lock_timeout`. Any role may hold an advisory lock, so the one that does is named.
DO $$
DECLARE
    -- A lock of this schema alone, under a name that no other program takes by accident.
    lock_key CONSTANT bigint := hashtextextended(
        'dray.schema.' || current_setting('dray.schema'), 0);
    holder text;
BEGIN
    PERFORM pg_advisory_xact_lock(lock_key);
EXCEPTION WHEN lock_not_available THEN
    SELECT format('the session with pid %s of the role %s', l.pid,
                  coalesce(a.usename::text, '(unknown)'))
    INTO holder
    FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND l.classid::bigint = (lock_key >> 32) & 4294967295
        AND l.objid::bigint = lock_key & 4294967295
    LIMIT 1;
    RAISE EXCEPTION 'The advisory lock of migrations is held by %',
        coalesce(holder, 'a session that has just ended')
        USING ERRCODE = 'lock_not_available';
END
$$

-- name: state
-- Whose the schema of the setting dray.schema is, an identifier, whether it has a version, and
-- whether it is of a Dray before its first release. Who owns the schema owns the functions that
-- this session calls. So it has to be a role whose rights are this one's, or who is above it in any
-- case: the database's owner, a superuser. Or it is the one that the setting dray.owner names,
-- which only this role and those can give this role.
WITH pinned AS (
    SELECT current_setting('dray.schema') AS name
)
SELECT n.name,
    to_regnamespace(n.name) IS NOT NULL AS is_there,
    coalesce((SELECT pg_has_role(s.nspowner, 'USAGE') FROM pg_namespace s
        WHERE s.oid = to_regnamespace(n.name)), true) AS is_own,
    coalesce((SELECT pg_has_role(s.nspowner, 'USAGE') OR o.rolsuper
              OR o.rolname = 'pg_database_owner'
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

-- name: create
-- The schema of this session's search path, with the tables of its versions.
DO $$
BEGIN
    EXECUTE 'CREATE SCHEMA IF NOT EXISTS ' || split_part(current_setting('search_path'), ',', 1);
    CREATE TABLE schema_migration (
        version int PRIMARY KEY,
        -- SHA-256 of the file that made it.
        checksum text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    );
    -- Revisions of the functions that were applied; those of the last one are there.
    CREATE TABLE schema_functions (
        revision int PRIMARY KEY,
        -- SHA-256 of their text.
        checksum text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    );
END
$$

-- name: edited
-- Versions and texts of this binary. Answers the version of the schema, and the first that another
-- text made.
SELECT coalesce(max(m.version), 0)::bigint AS version,
    min(m.version) FILTER (
        WHERE m.checksum <> encode(sha256(convert_to(b.text, 'UTF8')), 'hex'))::bigint AS edited
FROM schema_migration m
LEFT JOIN unnest(@versions::int[], @texts::text[]) AS b(version, text) ON b.version = m.version

-- name: record
-- A version that was applied, and its text.
INSERT INTO schema_migration (version, checksum)
VALUES (@version::int, encode(sha256(convert_to(@text::text, 'UTF8')), 'hex'))

-- name: functions
-- The last revision of functions that was applied, 0 before the first, and whether it has this
-- @text.
SELECT coalesce(max(revision), 0)::bigint AS revision,
    coalesce((array_agg(checksum ORDER BY revision DESC))[1]
             = encode(sha256(convert_to(@text::text, 'UTF8')), 'hex'), false) AS is_same
FROM schema_functions

-- name: recordFunctions
-- A revision of functions that was applied, and their text.
INSERT INTO schema_functions (revision, checksum)
VALUES (@revision::int, encode(sha256(convert_to(@text::text, 'UTF8')), 'hex'))
ON CONFLICT (revision) DO UPDATE SET checksum = excluded.checksum, applied_at = now()

-- name: pin
-- Pins the search path of the schema's functions to this session's, so that they find the same
-- names whoever calls them, a trigger's above all. Those in plain SQL are called by these alone,
-- and would no longer be inlined.
DO $$
DECLARE
    pinned text;
BEGIN
    FOR pinned IN
        SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
        WHERE p.pronamespace = to_regnamespace(split_part(current_setting('search_path'), ',', 1))
            AND l.lanname = 'plpgsql'
    LOOP
        EXECUTE 'ALTER FUNCTION ' || pinned || ' SET search_path FROM CURRENT';
    END LOOP;
END
$$

-- template: grant
-- Grants a coordinator's role its rights in a schema that another role owns; {{schema}} and {{role}} are
-- identifiers.
GRANT USAGE ON SCHEMA {{schema}} TO {{role}};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {{schema}} TO {{role}};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA {{schema}} TO {{role}};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {{schema}} TO {{role}};
ALTER DEFAULT PRIVILEGES IN SCHEMA {{schema}} GRANT SELECT, INSERT, UPDATE,
    DELETE ON TABLES TO {{role}};
ALTER DEFAULT PRIVILEGES IN SCHEMA {{schema}} GRANT USAGE ON SEQUENCES TO {{role}};
ALTER DEFAULT PRIVILEGES IN SCHEMA {{schema}} GRANT EXECUTE ON FUNCTIONS TO {{role}}
