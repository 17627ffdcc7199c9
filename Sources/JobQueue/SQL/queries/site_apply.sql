-- $1 site, $2 schedule and $3 most bytes a second, as they were when what is in force was worked out:
-- $4 closed, $5 bytes a second, $6 next change in seconds since 1970. One row when that is new.
UPDATE site t SET schedule_closed = $4::bool, bytes_per_second = $5::bigint,
    next_change = to_timestamp($6::float8)
WHERE t.id = $1::bigint AND t.schedule = $2
  AND t.max_bytes_per_second IS NOT DISTINCT FROM $3::bigint
  AND (t.schedule_closed, t.bytes_per_second, t.next_change)
      IS DISTINCT FROM ($4::bool, $5::bigint, to_timestamp($6::float8))
RETURNING t.id
