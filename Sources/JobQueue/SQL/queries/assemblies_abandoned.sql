-- $1 site. Files in parts that nobody goes on with, named once: who asks removes them.
DELETE FROM abandoned_assembly
WHERE id IN (SELECT id FROM abandoned_assembly WHERE site_id = $1::bigint
             ORDER BY noted_at LIMIT 100 FOR UPDATE SKIP LOCKED)
RETURNING id
