-- Tells coordinators that something else is in force at a site, which may be work for the idle.
SELECT pg_notify('dray_work', 'sites')
