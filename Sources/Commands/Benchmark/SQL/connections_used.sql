-- Number of the coordinators' connections to this database.
SELECT count(*) AS connections FROM pg_stat_activity
WHERE backend_type = 'client backend' AND datname = current_database()
  AND application_name <> 'dray benchmark'
