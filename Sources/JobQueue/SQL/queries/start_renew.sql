-- $1 catalog, $2 generation. Files that were submitted again with another signature get it; of titles that are not
-- under way the manifest is read again, and what is stored stays so.
WITH changed AS MATERIALIZED (
    SELECT id FROM asset
    WHERE catalog_id = $1::bigint AND generation = $2::int AND url_changed
    ORDER BY id FOR NO KEY UPDATE
), renewed AS MATERIALIZED (
    UPDATE asset SET url_changed = false,
        resolved = resolved AND (kind = 'file' OR state = 'completed'
                                 OR state IN ({{assetUnsettled}}) AND state <> 'new')
    WHERE id IN (SELECT id FROM changed)
    RETURNING id, kind, url
)
UPDATE segment s SET url = n.url, renewed_at = now()
FROM renewed n WHERE n.kind = 'file' AND s.asset_id = n.id AND s.ordinal = 0
