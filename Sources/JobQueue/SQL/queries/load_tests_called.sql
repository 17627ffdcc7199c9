-- Tests that want workers, and have a place for one; $1 most shares.
SELECT t.id, q.name AS queue
FROM load_test t LEFT JOIN queue q ON q.id = t.queue_id
WHERE t.state = 'waiting' AND t.join_until > clock_timestamp()
  AND (SELECT count(*) FROM load_share s WHERE s.test_id = t.id AND s.state IN ({{loadShareUnderWay}}))
      < coalesce(t.workers, $1::int)
ORDER BY t.created_at LIMIT 100
