-- $1 test, $2 worker, $3 its name. Under the test's lock. No row where it has its part already.
INSERT INTO load_share (test_id, worker_id, worker_name) VALUES ($1::uuid, $2::uuid, $3)
ON CONFLICT DO NOTHING RETURNING state
