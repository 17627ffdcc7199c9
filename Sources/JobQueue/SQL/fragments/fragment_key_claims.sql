    SELECT w.id, w.key, w.url FROM wanted w
    UNION ALL
    SELECT w.id, s.key, s.url
    FROM wanted w
    CROSS JOIN LATERAL jsonb_to_recordset(w.sidecars) AS s(url text, key text)
    WHERE w.sidecars IS NOT NULL
