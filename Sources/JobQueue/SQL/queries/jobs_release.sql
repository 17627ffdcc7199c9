-- $1 jobs. Given back untouched: waiting again, at once, the attempt not counted.
UPDATE job SET lease_id = NULL, attempt = greatest(attempt - 1, 0) WHERE id = ANY($1::bigint[])
