COPY segment (ordinal, url, key, role, expected_bytes, expected_sha256, mirrors,
              asset_id, origin_id)
FROM STDIN
