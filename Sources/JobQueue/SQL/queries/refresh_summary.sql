-- $1 catalog.
SELECT count(*) FILTER (WHERE a.refreshed = 'unchanged') AS unchanged,
       count(*) FILTER (WHERE a.refreshed = 'changed') AS changed,
       count(*) FILTER (WHERE a.refreshed = 'failed') AS failed
FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE a.catalog_id = $1::bigint AND a.generation >= c.generation
