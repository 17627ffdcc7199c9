-- $1 lease. What its jobs need to be done.
WITH held AS (
    SELECT j.*, l.catalog_id FROM span p JOIN lane l ON l.id = p.lane_id
    JOIN job j ON j.lane_id = p.lane_id AND j.id BETWEEN p.first_id AND p.last_id
    WHERE p.lease_id = $1::uuid
)
{{jobDetails}}
