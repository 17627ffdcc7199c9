-- $1 catalogs. What is refreshed is whole, and was; what switches does so.
WITH interrupted AS (
    UPDATE asset SET state = CASE WHEN state = 'refreshing' THEN 'completed' ELSE 'interrupted' END,
        changed_at = now()
    WHERE catalog_id = ANY($1::bigint[]) AND state IN ({{assetInterruptible}})
    RETURNING catalog_id, state
)
UPDATE catalog c SET assets_completed = c.assets_completed + i.n
FROM (SELECT catalog_id, count(*) AS n FROM interrupted WHERE state = 'completed'
      GROUP BY catalog_id) AS i
WHERE c.id = i.catalog_id
