-- $1 segment of the whole file. True for the first part of it that failed for good.
UPDATE assembly SET failed = true WHERE segment_id = $1::bigint AND NOT failed RETURNING true
