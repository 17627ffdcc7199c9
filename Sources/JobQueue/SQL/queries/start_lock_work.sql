-- $1 catalog, $2 generation. Locks what the start takes away from workers, jobs before assets as
-- reports do: the jobs of assets that leave the catalog or are redefined, the lists of digests that
-- may come too early, and those assets. From here on no report adds jobs or parts to them.
WITH jobs AS MATERIALIZED (
    SELECT j.id FROM job j LEFT JOIN asset a ON a.id = j.asset_id
    WHERE j.catalog_id = $1 AND (j.directory_id IS NOT NULL OR a.redefined
          OR (a.generation < $2 AND a.state IN ({{assetUnsettled}})))
    ORDER BY j.id FOR UPDATE OF j
), assets AS MATERIALIZED (
    SELECT id FROM asset
    WHERE catalog_id = $1 AND (redefined OR (generation < $2 AND state IN ({{assetUnsettled}})))
          AND (SELECT count(*) FROM jobs) >= 0
    ORDER BY id FOR UPDATE
)
SELECT count(*) FROM assets
