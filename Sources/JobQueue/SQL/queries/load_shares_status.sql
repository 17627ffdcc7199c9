-- $1 tests. Their shares, those with a number first.
SELECT test_id, worker_id, worker_name, number, state, next_second, cores, failure_code, failure_message
FROM load_share WHERE test_id = ANY($1::uuid[])
ORDER BY test_id, number NULLS LAST, joined_at, worker_id
