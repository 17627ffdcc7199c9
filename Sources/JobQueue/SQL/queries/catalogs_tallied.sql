-- Catalogs that have tallies, by a loose index scan.
WITH RECURSIVE tallied AS (
    (SELECT catalog_id FROM tally ORDER BY catalog_id LIMIT 1)
    UNION ALL
    SELECT n.catalog_id FROM tallied t CROSS JOIN LATERAL (
        SELECT catalog_id FROM tally WHERE catalog_id > t.catalog_id ORDER BY catalog_id LIMIT 1
    ) AS n
)
SELECT catalog_id AS id FROM tallied
