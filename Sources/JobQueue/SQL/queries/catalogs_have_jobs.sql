-- $1 catalogs. True when a report that was under way has left new jobs.
SELECT EXISTS (SELECT FROM delayed_job
               WHERE catalog_id = ANY($1::bigint[]) AND kind <> 'switch')
    OR EXISTS (SELECT FROM lane l JOIN job j ON j.lane_id = l.id
               WHERE l.catalog_id = ANY($1::bigint[]) AND j.kind <> 'switch') AS have_jobs
