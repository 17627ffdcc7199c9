-- $1 test, $2 seconds from now.
UPDATE load_test SET state = 'running', start_at = clock_timestamp() + make_interval(secs => $2::float8)
WHERE id = $1::uuid AND state IN ({{loadTestStartable}})
