-- One wake-up a transaction, whatever the number of jobs.
SELECT pg_notify('dray_work', '')
