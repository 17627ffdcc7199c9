-- $1 a title, $2 itself and others. What these have stored, with their manifests as they were served; of itself what
-- was put aside.
INSERT INTO told_file (source, key, url, expected_digests, manifest_sha256, bytes, sha256, verified,
                       validator, stored_at)
SELECT s.asset_id, s.key, s.url, s.expected_digests, {{manifestServed}}, r.bytes, r.sha256,
       r.verified, r.validator, r.recorded_at
FROM segment s
LEFT JOIN result r ON r.segment_id = s.id AND r.done
LEFT JOIN document d ON d.segment_id = s.id AND s.role = 'playlist'
WHERE s.asset_id = ANY($2::bigint[]) AND s.asset_id <> $1::bigint AND s.part = 0
UNION ALL
SELECT asset_id, key, url, expected_digests, manifest_sha256, bytes, sha256, verified, validator,
       stored_at
FROM former_file WHERE asset_id = ANY($2::bigint[])
