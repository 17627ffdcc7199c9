-- $1 queue names, empty for all; $2 most rows.
SELECT q.id, q.site_id, t.storage_url, q.name, (SELECT id FROM cluster)
FROM queue q JOIN site t ON t.id = q.site_id
WHERE cardinality($1::text[]) = 0 OR q.name = ANY($1::text[]) LIMIT $2::int
