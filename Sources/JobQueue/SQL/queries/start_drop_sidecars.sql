-- $1 catalog, $2 generation. Drops the segments of sidecars that their assets no longer name alike at
-- that place, and their results; what is known of the assets' own segments stays. Another signature makes no other
-- sidecar. Nothing of them is under way.
WITH changed AS MATERIALIZED (
    UPDATE asset SET sidecars_changed = false
    WHERE catalog_id = $1::bigint AND generation = $2::int AND sidecars_changed
      AND state IN ('new', 'interrupted', 'failed', 'cancelled', 'completed')
    RETURNING id, sidecars
), named AS MATERIALIZED (
    SELECT c.id AS asset_id, {{firstSidecar}} + n.place - 1 AS ordinal, n.*
    FROM changed c
    CROSS JOIN LATERAL ROWS FROM (
        jsonb_to_recordset(c.sidecars)
            AS (url text, key text, role text, required boolean, bytes bigint, sha256 text,
                digests text)
    ) WITH ORDINALITY AS n(url, key, role, required, bytes, sha256, digests, place)
), alike AS MATERIALIZED (
    SELECT s.id, n.url, s.url <> n.url AS is_renewed
    FROM named n
    CROSS JOIN LATERAL (
        SELECT * FROM segment WHERE asset_id = n.asset_id AND ordinal = n.ordinal OFFSET 0
    ) AS s
    WHERE (s.key, s.role, s.optional, s.expected_bytes, s.expected_sha256, s.expected_digests)
          IS NOT DISTINCT FROM (n.key, n.role, NOT n.required, n.bytes, n.sha256, n.digests)
      AND CASE WHEN s.url = n.url THEN true ELSE {{objectOfS}} = {{objectOfN}} END
), renewed AS (
    UPDATE segment s SET url = a.url FROM alike a WHERE s.id = a.id AND a.is_renewed
), gone AS (
    DELETE FROM segment s USING changed c
    WHERE s.asset_id = c.id AND s.ordinal >= {{firstSidecar}}
      AND NOT EXISTS (SELECT FROM alike a WHERE a.id = s.id)
    RETURNING s.id
)
DELETE FROM result USING gone WHERE result.segment_id = gone.id
