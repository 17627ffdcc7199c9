-- $1 catalogs. True when a report that was under way has left new jobs.
SELECT EXISTS (SELECT FROM job WHERE catalog_id = ANY($1::bigint[])) AS have_jobs
