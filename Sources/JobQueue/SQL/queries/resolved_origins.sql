-- $1 asset, whose segments and sidecars are all there. Who serves them, and how many segments each.
SELECT origin_id, count(*) FILTER (WHERE part = 0 AND ordinal < {{firstSidecar}}) AS segments
FROM segment WHERE asset_id = $1::bigint
GROUP BY origin_id ORDER BY origin_id
