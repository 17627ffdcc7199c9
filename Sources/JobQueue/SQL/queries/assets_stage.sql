-- Where COPY puts a batch of assets before they are merged; one a connection, empty after COMMIT.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_asset (
    position int, name text, url text, kind text, key text, expected_bytes bigint, expected_sha256 text,
    expected_digests text, origin text, directory text,
    -- A URL a line.
    mirrors text,
    sidecars jsonb
) ON COMMIT DELETE ROWS
