-- $1 versions and $2 texts of this binary. The version of the schema, and the first that another text made.
SELECT coalesce(max(m.version), 0)::bigint AS version,
    min(m.version) FILTER (
        WHERE m.checksum <> encode(sha256(convert_to(b.text, 'UTF8')), 'hex'))::bigint AS edited
FROM schema_migration m
LEFT JOIN unnest($1::int[], $2::text[]) AS b(version, text) ON b.version = m.version
