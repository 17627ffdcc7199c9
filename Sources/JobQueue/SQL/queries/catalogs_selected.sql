-- $1 catalog or null, $2 name or null, $3 storage URL or null, $4 failure code or null. The catalogs
-- that are meant: the one of that number, those of that name, or those with a failure of that code.
SELECT c.id FROM catalog c JOIN site t ON t.id = c.site_id
WHERE CASE WHEN $1::bigint IS NOT NULL THEN c.id = $1
           WHEN $2::text IS NOT NULL
               THEN c.name = $2 AND ($3::text IS NULL OR t.storage_url = $3)
           ELSE EXISTS (SELECT FROM asset a WHERE a.catalog_id = c.id
                        AND (a.generation = c.generation OR a.state IN ({{assetUnsettled}}))
                        AND a.failure_code = $4::text) END
ORDER BY c.id
