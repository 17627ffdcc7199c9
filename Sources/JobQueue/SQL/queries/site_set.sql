-- $1 site, $2 schedule, $3 most bytes a second, $4 floor and $5 quota in bytes.
UPDATE site SET schedule = $2, max_bytes_per_second = $3::bigint, floor_bytes = $4::bigint,
    quota_bytes = $5::bigint
WHERE id = $1::bigint
