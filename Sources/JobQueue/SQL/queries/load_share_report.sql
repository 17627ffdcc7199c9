-- $1 test, $2 worker, $3 state, $4 first second of which nothing has come, $5 cores or null, $6 breakdown or null,
-- $7 code and $8 message of a failure or null. Under the share's lock.
-- Its worker is heard of by that as by a heartbeat, which one with a share and nothing to fetch sends none of.
WITH seen AS (UPDATE worker SET last_seen = clock_timestamp() WHERE id = $2::uuid)
UPDATE load_share SET state = $3, heard_at = clock_timestamp(), next_second = $4::int,
    cores = coalesce($5::int, cores), breakdown = $6, failure_code = $7, failure_message = $8
WHERE test_id = $1::uuid AND worker_id = $2::uuid
