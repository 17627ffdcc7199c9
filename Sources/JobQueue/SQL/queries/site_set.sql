-- $1 site, $2 schedule, $3 most bytes a second.
UPDATE site SET schedule = $2, max_bytes_per_second = $3::bigint WHERE id = $1::bigint
