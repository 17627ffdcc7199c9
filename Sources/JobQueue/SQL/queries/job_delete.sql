-- $1 lane, $2 job.
DELETE FROM job WHERE lane_id = $1::bigint AND id = $2::bigint
