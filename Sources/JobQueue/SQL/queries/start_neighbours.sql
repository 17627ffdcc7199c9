-- $1 catalog. Whether another one of its site has files in any of its directories.
SELECT EXISTS (
    SELECT FROM directory d
    CROSS JOIN LATERAL (
        SELECT FROM directory e
        WHERE e.site_id = d.site_id AND e.path = d.path AND e.catalog_id <> d.catalog_id OFFSET 0
    ) AS o
    WHERE d.catalog_id = $1::bigint
      -- Looked at once: most sites have one catalog.
      AND EXISTS (
          SELECT FROM catalog c JOIN catalog n ON n.site_id = c.site_id AND n.id <> c.id
          WHERE c.id = $1::bigint)
) AS has_neighbours
