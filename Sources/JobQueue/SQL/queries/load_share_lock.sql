-- $1 test, $2 worker.
SELECT state, number, next_second FROM load_share
WHERE test_id = $1::uuid AND worker_id = $2::uuid FOR UPDATE
