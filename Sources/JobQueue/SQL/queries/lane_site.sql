-- $1 lane. The site that it feeds.
SELECT q.site_id FROM lane l JOIN queue q ON q.id = l.queue_id WHERE l.id = $1::bigint
