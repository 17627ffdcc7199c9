-- $1 catalog, $2 assets. Locks what of them is on its way to a lane, as claims do before they lock
-- lanes, and then them: a report that is under way ends first, and the next one sees their priority.
WITH delayed AS MATERIALIZED (
    SELECT id FROM delayed_job
    WHERE catalog_id = $1 AND asset_id IN (SELECT unnest($2::bigint[]))
    ORDER BY id FOR UPDATE
)
SELECT count(*) FROM (
    SELECT id FROM asset
    WHERE id IN (SELECT unnest($2::bigint[])) AND (SELECT count(*) FROM delayed) >= 0
    ORDER BY id FOR UPDATE
) AS a
