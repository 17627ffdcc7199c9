-- $1 catalog. Before its directories and totals are counted anew: a report that has changed assets
-- is over when the locks are had, and counts; one that waits for them adds its changes later. The
-- catalog comes first, as in reports.
WITH catalogs AS MATERIALIZED (
    SELECT id FROM catalog WHERE id = $1 FOR NO KEY UPDATE
), directories AS MATERIALIZED (
    SELECT id FROM directory WHERE catalog_id IN (SELECT id FROM catalogs)
    ORDER BY id FOR NO KEY UPDATE
)
SELECT count(*) FROM directories
