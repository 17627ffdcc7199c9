-- $1 lanes, which are locked. Those that have nothing left to hand out say so: nobody tries their origin with it.
UPDATE lane l SET ready_since = NULL
WHERE l.id = ANY($1::bigint[]) AND NOT EXISTS (
    SELECT FROM job WHERE lane_id = l.id AND id > coalesce(
        (SELECT last_id FROM span WHERE lane_id = l.id ORDER BY last_id DESC LIMIT 1), 0))
