-- Live and dead rows of each table, as the statistics count them, and its size with its indexes.
SELECT relname AS name, n_live_tup AS live, n_dead_tup AS dead,
       pg_total_relation_size(relid) AS bytes
FROM pg_stat_user_tables
WHERE pg_total_relation_size(relid) > 100 * 1024
ORDER BY bytes DESC, relname
