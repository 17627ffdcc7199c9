-- $1 catalog, $2 assets. Locks what of them is on its way to a lane, as claims do before they lock
-- lanes, and then them: a report that is under way ends first, and the next one sees their priority.
-- No joins of jobs: with a number of assets that is not known they look through all of them for each.
WITH chosen AS MATERIALIZED (
    SELECT DISTINCT id FROM unnest($2::bigint[]) AS u(id)
), delayed AS MATERIALIZED (
    SELECT id FROM delayed_job
    WHERE catalog_id = $1 AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
    ORDER BY id FOR UPDATE
)
SELECT count(*) FROM (
    SELECT id FROM asset
    WHERE id IN (SELECT id FROM chosen) AND (SELECT count(*) FROM delayed) >= 0
    ORDER BY id FOR UPDATE
) AS a
