-- Moves what versions up to 28 made in public to the schema dray: their tables, with indexes and sequences, and
-- their functions. What stays in public is a version that binaries of that time refuse as newer than theirs.
DO $$
DECLARE
    moved text;
BEGIN
    CREATE SCHEMA IF NOT EXISTS dray;
    FOR moved IN
        SELECT c.oid::regclass::text FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
            AND pg_has_role(c.relowner, 'USAGE')
            AND c.relname = ANY (ARRAY[
                'abandoned_assembly', 'assembly', 'asset', 'cancelled_job', 'catalog', 'cluster', 'delayed_job',
                'directory', 'document', 'former_file', 'job', 'lane', 'lease', 'load_interval', 'load_share',
                'load_test', 'mirror', 'origin', 'origin_decision', 'origin_limit', 'origin_share', 'queue',
                'refresh_switch', 'refreshed_file', 'result', 'schema_migration', 'segment', 'site', 'site_share',
                'span', 'tally', 'worker', 'worker_minute'])
    LOOP
        EXECUTE 'ALTER TABLE ' || moved || ' SET SCHEMA dray';
    END LOOP;
    FOR moved IN
        SELECT p.oid::regprocedure::text FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND pg_has_role(p.proowner, 'USAGE')
            AND p.proname = ANY (ARRAY[
                'claim_jobs', 'claim_lane', 'claim_order', 'jobs_held', 'note_abandoned_assemblies', 'origin_allowance',
                'promote_jobs', 'share_origin', 'share_site', 'site_jobs_held'])
    LOOP
        EXECUTE 'ALTER FUNCTION ' || moved || ' SET SCHEMA dray';
    END LOOP;
    CREATE TABLE public.schema_migration AS
        SELECT max(version) + 1 AS version, now() AS applied_at FROM dray.schema_migration;
END
$$
