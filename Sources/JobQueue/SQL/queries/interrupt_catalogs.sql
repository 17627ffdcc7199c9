-- $1 catalogs.
WITH directories AS (
    UPDATE directory SET unsettled = 0 WHERE catalog_id = ANY($1::bigint[]) AND unsettled > 0
)
UPDATE catalog SET state = 'interrupted', ended_at = now(), sums_outstanding = 0
WHERE id = ANY($1::bigint[]) AND state = 'running'
