INSERT INTO origin (url)
SELECT origin FROM staged_asset
UNION
SELECT s.origin FROM staged_asset a, jsonb_to_recordset(a.sidecars) AS s(origin text)
ORDER BY 1
ON CONFLICT (url) DO NOTHING
