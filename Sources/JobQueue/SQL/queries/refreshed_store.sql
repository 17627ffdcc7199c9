-- $1 asset, and pairwise $2 numbers, $3 origins, $4 URLs, $5 keys, $6 roles, $7 expected lengths and $8 digests,
-- $9 documents, and what is to be stored: $10 lengths, $11 digests, $12 validators, $13 whether a digest was
-- compared, $14 the numbers of staged files.
INSERT INTO refreshed_file (asset_id, ordinal, origin, url, key, role, expected_bytes,
                            expected_sha256, content, bytes, sha256, validator, verified, staged)
SELECT $1::bigint, f.*
FROM unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[],
            $9::text[], $10::bigint[], $11::text[], $12::text[], $13::bool[], $14::int[]) AS f
ON CONFLICT (asset_id, ordinal) DO UPDATE SET
    origin = excluded.origin, url = excluded.url, key = excluded.key, role = excluded.role,
    expected_bytes = excluded.expected_bytes, expected_sha256 = excluded.expected_sha256,
    content = excluded.content, bytes = excluded.bytes, sha256 = excluded.sha256,
    validator = excluded.validator, verified = excluded.verified, staged = excluded.staged
