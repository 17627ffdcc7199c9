-- $1 segment of a whole file. Its verification and the jobs of its parts go.
WITH delayed AS (
    DELETE FROM delayed_job WHERE whole_id = $1::bigint
)
DELETE FROM job WHERE whole_id = $1::bigint
