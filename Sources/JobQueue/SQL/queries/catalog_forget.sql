-- $1 catalog, whose lock is held, $2 days. Forgets it, when it has no assets any more and is as old as
-- that; its directories go with it. A submission that is opened meanwhile keeps it, or makes it anew.
WITH old AS (
    DELETE FROM catalog c
    WHERE c.id = $1::bigint AND c.state <> 'running'
      AND greatest(c.ended_at, c.opened_at) < now() - make_interval(days => $2::int)
      AND NOT EXISTS (SELECT FROM asset a WHERE a.catalog_id = c.id)
    RETURNING c.id
), lanes AS (
    DELETE FROM lane l USING old WHERE l.catalog_id = old.id
), tallies AS (
    DELETE FROM tally t USING old WHERE t.catalog_id = old.id
)
SELECT count(*) AS catalogs FROM old
