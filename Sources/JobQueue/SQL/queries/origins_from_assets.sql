-- Who serves the assets that are staged, as origins_listed.sql.
INSERT INTO origin (url, is_listed)
SELECT n.url, true FROM (
    SELECT origin AS url FROM staged_asset
    UNION
    SELECT s.origin FROM staged_asset a, jsonb_to_recordset(a.sidecars) AS s(origin text)
) AS n
WHERE NOT EXISTS (SELECT FROM origin o WHERE o.url = n.url AND o.is_listed)
ORDER BY 1
ON CONFLICT (url) DO UPDATE SET is_listed = true
