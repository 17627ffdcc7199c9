-- $1 catalog, $2 generation. Locks what the start takes away from workers, jobs before assets as
-- reports do: the jobs of assets that leave the catalog or are redefined, the lists of digests that
-- may come too early, and those assets. From here on no report adds jobs or parts to them.
WITH leaving AS MATERIALIZED (
    SELECT id FROM asset
    WHERE catalog_id = $1 AND (redefined OR (generation < $2 AND state IN ({{assetUnsettled}})))
), delayed AS MATERIALIZED (
    SELECT id FROM delayed_job
    WHERE catalog_id = $1
      AND (directory_id IS NOT NULL OR asset_id IN (SELECT id FROM leaving))
    ORDER BY id FOR UPDATE
), jobs AS MATERIALIZED (
    SELECT j.id FROM lane l JOIN job j ON j.lane_id = l.id
    WHERE l.catalog_id = $1
      AND (j.directory_id IS NOT NULL OR j.asset_id IN (SELECT id FROM leaving))
    ORDER BY j.id FOR UPDATE OF j
), assets AS MATERIALIZED (
    SELECT id FROM asset WHERE id IN (SELECT id FROM leaving) AND (SELECT count(*) FROM jobs) >= 0
          AND (SELECT count(*) FROM delayed) >= 0
    ORDER BY id FOR UPDATE
)
SELECT count(*) FROM assets
