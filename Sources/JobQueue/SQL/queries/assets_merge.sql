-- $1 catalog, $2 generation. An asset that is named as before keeps what is known of it.
WITH merged AS (
    INSERT INTO asset AS a (catalog_id, directory_id, origin_id, generation, name, url, kind, key,
                            expected_bytes, expected_sha256, expected_digests, sidecars)
    SELECT $1::bigint, d.id, o.id, $2::int, s.name, s.url, s.kind, s.key, s.expected_bytes,
           s.expected_sha256, s.expected_digests, s.sidecars
    FROM staged_asset s
    JOIN origin o ON o.url = s.origin
    JOIN directory d ON d.catalog_id = $1 AND d.path = s.directory
    ORDER BY s.position
    ON CONFLICT (catalog_id, name) DO UPDATE SET
        generation = excluded.generation,
        -- Its directory changes at the start: that of before still waits for what is under way.
        origin_id = excluded.origin_id,
        url = excluded.url,
        kind = excluded.kind,
        url_changed = a.url_changed OR a.url <> excluded.url,
        key = excluded.key,
        expected_bytes = excluded.expected_bytes,
        expected_sha256 = excluded.expected_sha256,
        expected_digests = excluded.expected_digests,
        sidecars = excluded.sidecars,
        sidecars_changed = a.sidecars_changed OR a.sidecars IS DISTINCT FROM excluded.sidecars,
        -- What the list said of the length stands with the segment, once there is one: the asset's
        -- may have been learned from the origin.
        redefined = a.redefined OR (a.kind, a.key, a.expected_sha256, a.expected_digests)
            IS DISTINCT FROM (excluded.kind, excluded.key, excluded.expected_sha256,
                              excluded.expected_digests)
            -- Another signature makes no other object, and another token no other title.
            OR CASE WHEN a.url = excluded.url THEN false
                    WHEN excluded.kind = 'file' THEN {{objectOfA}} <> {{objectOfExcluded}}
                    ELSE {{titleOfA}} <> {{titleOfExcluded}} END
            OR excluded.kind = 'file' AND (
                SELECT CASE WHEN s.id IS NULL THEN a.expected_bytes ELSE s.expected_bytes END
                FROM (SELECT) AS one
                LEFT JOIN segment s ON s.asset_id = a.id AND s.ordinal = 0 AND s.part = 0
            ) IS DISTINCT FROM excluded.expected_bytes
    RETURNING 1
)
SELECT count(*) AS merged FROM merged
