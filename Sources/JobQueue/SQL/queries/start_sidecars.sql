-- $1 catalog, $2 generation. The segments of sidecars, behind those of their assets; a title that is not
-- resolved gets them with its own.
{{sidecars}}WHERE a.catalog_id = $1::bigint AND a.generation = $2::int AND a.sidecars IS NOT NULL
  AND (a.kind = 'file' OR a.resolved)
  AND a.state IN ('new', 'interrupted', 'failed', 'cancelled', 'completed')
ORDER BY a.id, s.place
ON CONFLICT (asset_id, ordinal, part) DO NOTHING
