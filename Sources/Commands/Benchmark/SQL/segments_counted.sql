-- Number of segments with a job, and of segments that are done.
SELECT (SELECT count(*) FROM job WHERE kind = 'fetch')
           + (SELECT count(*) FROM delayed_job WHERE kind = 'fetch') AS waiting,
       (SELECT count(*) FROM result WHERE done) AS done
