-- $1 site. The volume that it is on, null while none is recorded; the file system that this was last found on;
-- and seconds since an operator resumed the site.
SELECT volume_id, volume_file_system,
       extract(epoch FROM clock_timestamp() - resumed_at)::float8 AS resumed_seconds
FROM site WHERE id = $1::bigint
