-- $1 catalog, $2 generation. A completed asset is checked file by file; its parts are history.
WITH parts AS (
    DELETE FROM segment s USING asset a
    WHERE s.asset_id = a.id AND s.part > 0
      AND a.catalog_id = $1 AND a.generation = $2 AND a.state = 'completed'
    RETURNING s.id
), results AS (
    DELETE FROM result USING parts WHERE result.segment_id = parts.id
)
DELETE FROM assembly USING segment s, asset a
WHERE assembly.segment_id = s.id AND s.asset_id = a.id
  AND a.catalog_id = $1 AND a.generation = $2 AND a.state = 'completed'
