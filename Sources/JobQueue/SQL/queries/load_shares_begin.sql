-- $1 test. Those that are ready get their numbers, in the order in which they joined.
UPDATE load_share s SET state = 'running', number = n.number, heard_at = clock_timestamp()
FROM (SELECT worker_id, row_number() OVER (ORDER BY joined_at, worker_id) - 1 AS number
      FROM load_share WHERE test_id = $1::uuid AND state = 'ready') AS n
WHERE s.test_id = $1::uuid AND s.worker_id = n.worker_id
