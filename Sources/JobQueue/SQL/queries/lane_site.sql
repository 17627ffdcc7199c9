-- $1 lane. Its queue, and the site that this feeds.
SELECT q.id, q.site_id FROM lane l JOIN queue q ON q.id = l.queue_id WHERE l.id = $1::bigint
