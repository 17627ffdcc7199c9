-- $1 site, $2 preferred name, $3 name when the preferred one belongs to another site.
INSERT INTO queue (site_id, name)
VALUES ($1, CASE WHEN EXISTS (SELECT FROM queue WHERE name = $2 AND site_id <> $1)
                 THEN $3 ELSE $2 END)
ON CONFLICT (site_id) DO UPDATE SET name = queue.name
RETURNING id, name, state
