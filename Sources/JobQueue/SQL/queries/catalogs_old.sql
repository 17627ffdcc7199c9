-- $1 days. Catalogs that ended, or were never started, and that nothing was submitted to for so long.
SELECT id FROM catalog
WHERE state <> 'running' AND greatest(ended_at, opened_at) < now() - make_interval(days => $1::int)
ORDER BY id LIMIT 100
