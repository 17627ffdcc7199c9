-- $1 asset.
SELECT count(*) AS segments FROM segment WHERE asset_id = $1::bigint AND part = 0
  AND ordinal < {{firstSidecar}}
