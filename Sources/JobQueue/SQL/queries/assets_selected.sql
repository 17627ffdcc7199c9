-- $1 catalog, $2 name or null, $3 failure code or null. Assets of its present generation, and those
-- that have not ended although a submission that is not started yet has named them.
SELECT a.id, a.state FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE c.id = $1::bigint AND (a.generation = c.generation OR a.state IN ({{assetUnsettled}}))
  AND ($2::text IS NULL OR a.name = $2) AND ($3::text IS NULL OR a.failure_code = $3)
ORDER BY a.id
