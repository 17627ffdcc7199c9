-- $1 version that was applied, $2 its text.
INSERT INTO schema_migration (version, checksum)
VALUES ($1::int, encode(sha256(convert_to($2::text, 'UTF8')), 'hex'))
