-- Statements by which `dray doctor` reads a server: none needs more than the rights of a coordinator, and
-- each has a bounded number of rows.

-- unprepared: server
-- Client sessions are those of all databases; sessions of other roles are counted too.
SELECT current_setting('server_version') AS version,
       current_setting('server_version_num')::int AS version_number,
       extract(epoch FROM clock_timestamp())::float8 AS now,
       pg_is_in_recovery() AS is_in_recovery,
       pg_database_size(current_database())::bigint AS bytes,
       current_setting('max_connections')::int AS max_connections,
       current_setting('superuser_reserved_connections')::int AS reserved_connections,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
           AS used_connections,
       (SELECT count(*) FROM pg_stat_activity
        WHERE application_name LIKE 'dray%' AND backend_type = 'client backend') AS own_connections

-- unprepared: settings
SELECT name, setting || coalesce(' ' || unit, '') AS value
FROM pg_settings WHERE name = ANY(@names::text[]) ORDER BY name

-- unprepared: transactions
-- The oldest transactions, which keep vacuum from removing rows that died since. Only members of pg_read_all_stats see
-- those of other roles.
SELECT pid, coalesce(application_name, '') AS application, coalesce(state, '') AS state,
       extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds
FROM pg_stat_activity
WHERE xact_start < clock_timestamp() - make_interval(secs => @seconds::float8)
    AND backend_type = 'client backend'
ORDER BY xact_start LIMIT @limit::int

-- unprepared: tables
-- The tables of this schema with the most dead rows.
SELECT relname::text AS name, n_live_tup AS live_rows, n_dead_tup AS dead_rows,
       pg_total_relation_size(relid)::bigint AS bytes,
       extract(epoch FROM clock_timestamp() - greatest(last_vacuum, last_autovacuum))::float8
           AS vacuumed_seconds
FROM pg_stat_user_tables WHERE schemaname = current_schema()
ORDER BY n_dead_tup DESC, relname LIMIT @limit::int
