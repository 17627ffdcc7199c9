-- $1 test, $2 seconds since it was stopped, $3 code and $4 message. Shares that go on all the same.
UPDATE load_share s SET state = 'lost', failure_code = $3, failure_message = $4
FROM load_test t
WHERE t.id = $1::uuid AND s.test_id = t.id AND s.state = 'running'
  AND t.stopped_at < clock_timestamp() - make_interval(secs => $2::float8)
RETURNING s.worker_name, s.state
