-- $1 site. The volume that it is on; null while none is recorded.
SELECT volume_id FROM site WHERE id = $1::bigint
