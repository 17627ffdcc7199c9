-- $1 asset, $2 job, and pairwise $3 numbers, $4 origins, $5 URLs, $6 keys, $7 roles, $8 expected lengths and $9
-- digests, $10 documents, and what is to be stored: $11 lengths, $12 digests, $13 validators, $14 whether a digest
-- was compared, $15 the numbers of staged files; $16 mirrors, $17 digests of manifests as they were served.
INSERT INTO refreshed_file (asset_id, job_id, ordinal, origin, url, key, role, expected_bytes,
                            expected_sha256, content, bytes, sha256, validator, verified, staged,
                            mirrors, served_sha256)
SELECT $1::bigint, $2::bigint, f.*
FROM unnest($3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[],
            $10::text[], $11::bigint[], $12::text[], $13::text[], $14::bool[], $15::int[],
            $16::text[], $17::text[]) AS f
ON CONFLICT (asset_id, ordinal) DO UPDATE SET
    job_id = excluded.job_id, origin = excluded.origin, url = excluded.url, key = excluded.key,
    role = excluded.role, expected_bytes = excluded.expected_bytes,
    expected_sha256 = excluded.expected_sha256, content = excluded.content,
    bytes = excluded.bytes, sha256 = excluded.sha256, validator = excluded.validator,
    verified = excluded.verified, staged = excluded.staged, mirrors = excluded.mirrors,
    served_sha256 = excluded.served_sha256
