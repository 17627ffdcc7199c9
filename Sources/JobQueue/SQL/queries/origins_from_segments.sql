-- Who serves the segments that are staged, as origins_listed.sql.
INSERT INTO origin (url, is_listed)
SELECT s.url, true FROM (SELECT DISTINCT origin AS url FROM staged_segment) AS s
WHERE NOT EXISTS (SELECT FROM origin o WHERE o.url = s.url AND o.is_listed)
ORDER BY 1
ON CONFLICT (url) DO UPDATE SET is_listed = true
