DROP FUNCTION share_site(bigint, uuid, float8);
DROP FUNCTION site_jobs_held(bigint, uuid);
DROP TABLE site_share;
