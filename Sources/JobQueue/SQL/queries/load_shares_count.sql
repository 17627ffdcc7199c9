-- $1 test. Its shares by state, and the first one that failed.
SELECT state, count(*) AS shares,
       min(worker_name || ': ' || failure_message) AS message, min(failure_code) AS code
FROM load_share WHERE test_id = $1::uuid GROUP BY state
