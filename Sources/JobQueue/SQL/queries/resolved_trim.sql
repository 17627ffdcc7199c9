-- $1 asset, $2 how many segments its manifest lists. What an earlier try left beyond them
-- goes, but for its sidecars.
WITH extra AS (
    DELETE FROM segment WHERE asset_id = $1::bigint AND (ordinal >= $2::int AND ordinal < {{firstSidecar}} OR part > 0)
    RETURNING id
), results AS (
    DELETE FROM result USING extra WHERE result.segment_id = extra.id
)
DELETE FROM assembly y USING segment s WHERE s.id = y.segment_id AND s.asset_id = $1::bigint
