-- $1 lease. What its jobs need to be done, in the order they were queued.
WITH held AS (
    SELECT * FROM job WHERE lease_id = $1::uuid
)
{{jobDetails}}