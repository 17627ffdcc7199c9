-- $1 segment of a whole file. Its verification and the jobs of its parts go. A claim that is moving
-- one of them to its lane is waited for, and the job that it made is seen by the next execution.
WITH delayed AS (
    DELETE FROM delayed_job WHERE whole_id = $1::bigint RETURNING 1
), gone AS (
    DELETE FROM job WHERE whole_id = $1::bigint RETURNING 1
)
SELECT (SELECT count(*) FROM delayed) + (SELECT count(*) FROM gone) AS jobs
