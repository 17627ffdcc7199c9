-- $1 catalog, $2 generation. Drops the segments of sidecars that their assets no longer name alike at
-- that place, and their results; what is known of the assets' own segments stays. Nothing of them is
-- under way.
WITH changed AS MATERIALIZED (
    UPDATE asset SET sidecars_changed = false
    WHERE catalog_id = $1::bigint AND generation = $2::int AND sidecars_changed
      AND state IN ('new', 'interrupted', 'failed', 'cancelled', 'completed')
    RETURNING id, sidecars
), gone AS (
    DELETE FROM segment s USING changed c
    WHERE s.asset_id = c.id AND s.ordinal >= {{firstSidecar}} AND NOT EXISTS (
        SELECT FROM ROWS FROM (
            jsonb_to_recordset(c.sidecars)
                AS (url text, key text, role text, required boolean, bytes bigint, sha256 text,
                    digests text)
        ) WITH ORDINALITY AS n(url, key, role, required, bytes, sha256, digests, place)
        WHERE s.ordinal = {{firstSidecar}} + n.place - 1
          AND (s.url, s.key, s.role, s.optional, s.expected_bytes, s.expected_sha256,
               s.expected_digests)
              IS NOT DISTINCT FROM (n.url, n.key, n.role, NOT n.required, n.bytes, n.sha256,
                                    n.digests))
    RETURNING s.id
)
DELETE FROM result USING gone WHERE result.segment_id = gone.id
