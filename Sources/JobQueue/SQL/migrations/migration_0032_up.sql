-- What a worker may write to, by its heartbeats: storage URLs of directories, null for every site; and sites within
-- them that lead outside, by a symlink.
ALTER TABLE worker ADD COLUMN roots text[], ADD COLUMN refused_sites bigint[] NOT NULL DEFAULT '{}';

-- The roots of the workers that are heard of, when none of these may write to the site; null when one may, or there is
-- none. A site is within a root as `StorageURL.isSite` has it.
CREATE FUNCTION outside_roots(of_site bigint) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT left(string_agg(DISTINCT array_to_string(w.roots, ', '), ', '), 250)
           || CASE WHEN bool_or(n.is_within) THEN '; a symlink on the way leads out of them' ELSE '' END
    FROM site t
    JOIN worker w ON w.last_seen > now() - interval '60 seconds'
    CROSS JOIN LATERAL (
        SELECT w.roots IS NULL
               OR EXISTS (SELECT FROM unnest(w.roots) AS r
                          WHERE t.storage_url = r OR starts_with(t.storage_url, r || '/')) AS is_within
    ) AS n
    WHERE t.id = of_site
    GROUP BY t.id
    HAVING NOT bool_or(n.is_within AND t.id <> ALL (w.refused_sites))
$$;
