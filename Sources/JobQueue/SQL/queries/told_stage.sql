-- Where files are put that others have stored, before they are looked for by key; one a connection.
CREATE TEMPORARY TABLE IF NOT EXISTS told_file (
    source bigint, key text, url text, expected_digests text, manifest_sha256 text, bytes bigint,
    sha256 text, verified boolean, validator text, stored_at timestamptz
) ON COMMIT DELETE ROWS;
CREATE INDEX IF NOT EXISTS told_file_key ON told_file (hashtextextended(key, 0));
