-- $1 worker; pairwise $2 sites and $3 numbers of the shares that it keeps to: those before them have
-- ended.
DELETE FROM site_share s USING unnest($2::bigint[], $3::bigint[]) AS u(site_id, number)
WHERE s.site_id = u.site_id AND s.worker_id = $1::uuid AND s.id < u.number
