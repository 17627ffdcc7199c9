-- $1 catalog, $2 generation. A file asset that was never started is one segment; it may have been
-- interrupted before its first start, or refused because of its key.
INSERT INTO segment (asset_id, origin_id, ordinal, role, url, key, expected_bytes, expected_sha256,
                     expected_digests)
SELECT id, origin_id, 0, 'file', url, key, expected_bytes, expected_sha256, expected_digests
FROM asset
WHERE catalog_id = $1 AND generation = $2 AND state IN ('new', 'interrupted', 'failed', 'cancelled') AND kind = 'file'
  AND NOT key_taken
ORDER BY id
ON CONFLICT (asset_id, ordinal, part) DO NOTHING
