-- $1 name of the queue. Returns its lanes of segments.
SELECT l.id FROM lane l JOIN queue q ON q.id = l.queue_id WHERE q.name = $1 AND l.rank = 3 ORDER BY l.id
