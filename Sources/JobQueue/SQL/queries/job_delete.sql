-- $1 job.
DELETE FROM job WHERE id = $1::bigint
