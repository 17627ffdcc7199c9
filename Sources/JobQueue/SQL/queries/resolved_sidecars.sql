-- $1 asset, whose own segments are all there. Those of its sidecars follow.
{{sidecars}}WHERE a.id = $1::bigint
ORDER BY s.place
ON CONFLICT (asset_id, ordinal, part) DO NOTHING
