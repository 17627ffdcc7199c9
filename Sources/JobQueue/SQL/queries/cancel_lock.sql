-- $1 catalog, $2 assets. Locks their jobs and then them, as reports do: from here on no report adds
-- jobs or parts to them.
WITH chosen AS MATERIALIZED (
    SELECT DISTINCT id FROM unnest($2::bigint[]) AS u(id)
), delayed AS MATERIALIZED (
    -- No joins: with a number of assets that is not known they look through all of them for each job.
    SELECT id FROM delayed_job WHERE catalog_id = $1 AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
    ORDER BY id FOR UPDATE
), jobs AS MATERIALIZED (
    SELECT id FROM job
    WHERE lane_id = ANY(ARRAY(SELECT id FROM lane WHERE catalog_id = $1))
      AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
    ORDER BY id FOR UPDATE
), assets AS MATERIALIZED (
    SELECT a.id FROM asset a JOIN chosen c ON c.id = a.id
    WHERE (SELECT count(*) FROM jobs) >= 0 AND (SELECT count(*) FROM delayed) >= 0
    ORDER BY a.id FOR UPDATE OF a
)
SELECT count(*) FROM assets
