-- $1 test, $2 seconds, $3 code and $4 message. Shares that were not heard of for so long: before the start somebody
-- else takes their place.
UPDATE load_share SET
    state = CASE WHEN state = 'running' THEN 'lost' ELSE 'dismissed' END,
    failure_code = $3, failure_message = $4
WHERE test_id = $1::uuid AND state IN ({{loadShareUnderWay}})
  AND heard_at < clock_timestamp() - make_interval(secs => $2::float8)
RETURNING worker_name, state
