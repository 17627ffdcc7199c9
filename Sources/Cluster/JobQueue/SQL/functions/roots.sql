-- The sites that workers may write to.

-- name: is_site_within
-- True if a site is at a root or below it: by components of the path, with the same query.
CREATE OR REPLACE FUNCTION is_site_within(site text, root text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT split_part(site, '?', 2) = split_part(root, '?', 2)
           AND (split_part(site, '?', 1) = split_part(root, '?', 1)
                OR starts_with(split_part(site, '?', 1), split_part(root, '?', 1) || '/'))
$$

-- name: outside_roots
-- The roots of the workers that are alive, when none of these may write to the site, and whether a
-- symlink leads out of them; no row when one may, or there is none. A site is within a root as
-- `StorageURL.isSite` has it.
CREATE OR REPLACE FUNCTION outside_roots(of_site bigint) RETURNS TABLE (roots text, has_symlink boolean)
LANGUAGE sql STABLE AS $$
    SELECT left(string_agg(DISTINCT array_to_string(w.roots, ', '), ', '), 250), bool_or(n.is_within)
    FROM site t
    JOIN worker w ON w.last_seen > now() - interval '60 seconds'
    CROSS JOIN LATERAL (
        SELECT w.roots IS NULL
               OR EXISTS (SELECT FROM unnest(w.roots) AS r
                          WHERE is_site_within(t.storage_url, r)) AS is_within
    ) AS n
    WHERE t.id = of_site
      -- Looked at first, because it is the rule.
      AND NOT EXISTS (
          SELECT FROM worker o
          WHERE o.last_seen > now() - interval '60 seconds' AND t.id <> ALL (o.refused_sites)
            AND (o.roots IS NULL
                 OR EXISTS (SELECT FROM unnest(o.roots) AS r
                            WHERE is_site_within(t.storage_url, r))))
    GROUP BY t.id
$$
