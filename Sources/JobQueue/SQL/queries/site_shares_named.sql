-- $1 worker; pairwise $2 sites and $3 numbers of the shares that it keeps to: those before them have
-- ended. Locked in the order of their sites.
DELETE FROM site_share WHERE id = ANY(ARRAY(
    SELECT s.id
    FROM site_share s JOIN unnest($2::bigint[], $3::bigint[]) AS u(site_id, number)
        ON s.site_id = u.site_id AND s.worker_id = $1::uuid AND s.id < u.number
    ORDER BY s.site_id, s.id FOR UPDATE OF s))
