-- $1 assembly, $2 segment, $3 total bytes, $4 validator, $5 parts.
INSERT INTO assembly (id, segment_id, total_bytes, validator, parts)
VALUES ($1::uuid, $2::bigint, $3::bigint, $4, $5::int)
