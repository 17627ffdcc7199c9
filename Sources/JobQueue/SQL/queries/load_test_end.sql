-- $1 test; $2 code and $3 message where it came to no start.
UPDATE load_test SET state = 'ended', ended_at = clock_timestamp(), scenario = '',
    failure_code = coalesce(failure_code, $2), failure_message = coalesce(failure_message, $3)
WHERE id = $1::uuid AND state IN ({{loadTestEndable}})
