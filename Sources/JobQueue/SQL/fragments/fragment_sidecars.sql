INSERT INTO segment (asset_id, origin_id, ordinal, role, url, key, expected_bytes, expected_sha256,
                     expected_digests, is_whole, optional)
SELECT a.id, o.id, {{firstSidecar}} + s.place - 1, s.role, s.url, s.key, s.bytes, s.sha256, s.digests,
       true, NOT s.required
FROM asset a
CROSS JOIN LATERAL ROWS FROM (
    jsonb_to_recordset(a.sidecars)
        AS (url text, key text, origin text, role text, required boolean, bytes bigint, sha256 text,
            digests text)
) WITH ORDINALITY AS s(url, key, origin, role, required, bytes, sha256, digests, place)
JOIN origin o ON o.url = s.origin
