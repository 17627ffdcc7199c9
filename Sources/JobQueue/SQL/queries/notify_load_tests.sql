-- Tells coordinators that a load test wants workers, or these are to do something else.
SELECT pg_notify('dray_work', 'load tests')
