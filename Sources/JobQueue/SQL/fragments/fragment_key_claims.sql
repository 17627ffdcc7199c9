    -- An asset whose name is its key, as of a list without names, has no rival of that kind in its catalog.
    SELECT w.id, w.key, w.url, w.name = w.key AS is_named_so FROM wanted w
    UNION ALL
    SELECT w.id, s.key, s.url, false
    FROM wanted w
    CROSS JOIN LATERAL jsonb_to_recordset(w.sidecars) AS s(url text, key text)
    WHERE w.sidecars IS NOT NULL
