-- $1 catalog. Ends reads of manifests for fresh URLs that outlived what waited for them: their titles have ended, and a
-- start may give these a job that reads the manifest for the first time.
WITH ended AS MATERIALIZED (
    SELECT id FROM asset
    WHERE catalog_id = $1::bigint AND renewing_since IS NOT NULL AND state NOT IN ({{assetUnsettled}})
    ORDER BY id FOR NO KEY UPDATE
), jobs AS (
    DELETE FROM job USING ended e, lane l
    WHERE l.catalog_id = $1::bigint AND job.lane_id = l.id AND job.asset_id = e.id AND job.kind = 'resolve'
), delayed AS (
    DELETE FROM delayed_job d USING ended e
    WHERE d.catalog_id = $1::bigint AND d.asset_id = e.id AND d.kind = 'resolve'
)
UPDATE asset a SET renewing_since = NULL FROM ended e WHERE a.id = e.id
