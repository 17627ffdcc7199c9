-- $1 lease. What its jobs need to be done.
WITH held AS (
    SELECT j.*, l.catalog_id FROM span p JOIN lane l ON l.id = p.lane_id
    CROSS JOIN LATERAL (
        SELECT * FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id OFFSET 0
    ) AS j
    WHERE p.lease_id = $1::uuid
)
{{jobDetails}}
