-- $1 asset, whose segments were merged with those that are staged. Where else they are to be had.
UPDATE segment s SET mirrors = g.mirrors FROM staged_segment g
WHERE s.asset_id = $1::bigint AND s.ordinal = g.ordinal AND s.part = 0
  AND s.mirrors IS DISTINCT FROM g.mirrors
