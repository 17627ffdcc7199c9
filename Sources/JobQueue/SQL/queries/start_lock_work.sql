-- $1 catalog, $2 generation. Locks what the start takes away from workers, jobs before assets as
-- reports do: the jobs of assets that leave the catalog, have other sidecars, are redefined or have their manifests read again, the
-- lists of digests that may come too early, and those assets. Answers how many jobs there were and how many are locked:
-- those that a claim or a report was moving meanwhile lie elsewhere by now, and what reports added
-- before the assets were locked is not seen, so that it is to be run again, and until both are equal.
-- From then on nothing adds jobs or parts to them.
WITH leaving AS MATERIALIZED (
    SELECT id FROM asset
    WHERE catalog_id = $1 AND (redefined OR renewing_since IS NOT NULL
        OR ((generation < $2 OR sidecars_changed) AND state IN ({{assetUnsettled}})))
), delayed_there AS MATERIALIZED (
    SELECT id FROM delayed_job
    WHERE catalog_id = $1
      AND (directory_id IS NOT NULL OR asset_id IN (SELECT id FROM leaving))
), delayed AS MATERIALIZED (
    SELECT id FROM delayed_job WHERE id IN (SELECT id FROM delayed_there) ORDER BY id FOR UPDATE
), there AS MATERIALIZED (
    SELECT j.lane_id, j.id FROM lane l JOIN job j ON j.lane_id = l.id
    WHERE l.catalog_id = $1
      AND (j.directory_id IS NOT NULL OR j.asset_id IN (SELECT id FROM leaving))
), jobs AS MATERIALIZED (
    SELECT j.id FROM there t JOIN job j ON j.lane_id = t.lane_id AND j.id = t.id
    ORDER BY j.id FOR UPDATE OF j
), assets AS MATERIALIZED (
    SELECT id FROM asset WHERE id IN (SELECT id FROM leaving) AND (SELECT count(*) FROM jobs) >= 0
          AND (SELECT count(*) FROM delayed) >= 0
    ORDER BY id FOR UPDATE
)
SELECT (SELECT count(*) FROM delayed_there) + (SELECT count(*) FROM there) AS found,
       (SELECT count(*) FROM delayed) + (SELECT count(*) FROM jobs) AS locked,
       (SELECT count(*) FROM assets) AS assets
