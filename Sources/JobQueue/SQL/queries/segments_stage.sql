-- Where COPY puts resolved segments before they are merged; one a connection.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_segment (
    ordinal int, url text, key text, role text, expected_bytes bigint, expected_sha256 text,
    mirrors text, origin text
) ON COMMIT DELETE ROWS
