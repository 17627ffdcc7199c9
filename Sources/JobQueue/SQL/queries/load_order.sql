-- $1 test, $2 worker. What its worker is to do follows from it.
SELECT t.state AS test, s.state AS share, s.number,
       extract(epoch FROM t.start_at - clock_timestamp())::float8 AS starts_in_seconds,
       (SELECT count(*) FROM load_share o WHERE o.test_id = t.id AND o.number IS NOT NULL) AS shares
FROM load_share s JOIN load_test t ON t.id = s.test_id
WHERE s.test_id = $1::uuid AND s.worker_id = $2::uuid
