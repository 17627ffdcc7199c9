-- $1 asset. What its manifest lists by now; sidecars, which the list names, and files that are as they
-- were stay.
INSERT INTO segment AS s (asset_id, origin_id, ordinal, role, url, key, expected_bytes, expected_sha256,
                          mirrors)
SELECT f.asset_id, o.id, f.ordinal, f.role, f.url, f.key, f.expected_bytes, f.expected_sha256,
       f.mirrors
FROM refreshed_file f JOIN origin o ON o.url = f.origin
WHERE f.asset_id = $1::bigint AND f.ordinal < {{firstSidecar}}
ORDER BY f.ordinal
ON CONFLICT (asset_id, ordinal, part) DO UPDATE SET
    origin_id = excluded.origin_id, role = excluded.role, url = excluded.url, key = excluded.key,
    expected_bytes = excluded.expected_bytes, expected_sha256 = excluded.expected_sha256,
    mirrors = excluded.mirrors
WHERE (s.url, s.key, s.role, s.expected_bytes, s.expected_sha256, s.mirrors) IS DISTINCT FROM
      (excluded.url, excluded.key, excluded.role, excluded.expected_bytes,
       excluded.expected_sha256, excluded.mirrors)
