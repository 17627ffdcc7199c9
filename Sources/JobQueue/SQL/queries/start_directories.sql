-- $1 catalog, $2 generation. Counts what is under way by directory; a SHA256SUMS that is about to be
-- written there waits until that has ended.
WITH counted AS (
    SELECT directory_id, count(*) AS unsettled FROM asset
    WHERE catalog_id = $1 AND generation = $2 AND state IN ({{assetUnsettled}})
    GROUP BY directory_id
), early AS (
    DELETE FROM job USING counted WHERE job.directory_id = counted.directory_id
)
UPDATE directory d SET unsettled = coalesce(c.unsettled, 0)
FROM directory x LEFT JOIN counted c ON c.directory_id = x.id
WHERE d.id = x.id AND x.catalog_id = $1
