-- The schema of this session's search path, with the table of its versions.
DO $$
BEGIN
    EXECUTE 'CREATE SCHEMA IF NOT EXISTS ' || split_part(current_setting('search_path'), ',', 1);
    CREATE TABLE schema_migration (
        version int PRIMARY KEY,
        -- SHA-256 of the file that made it.
        checksum text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    );
END
$$
