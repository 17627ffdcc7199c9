-- $1 leases. Every job they hold, locked.
SELECT p.lane_id, j.id, p.lease_id
FROM (
    SELECT lane_id, first_id, last_id, lease_id FROM span WHERE lease_id = ANY($1::uuid[])
    ORDER BY lane_id, last_id
) AS p
CROSS JOIN LATERAL (
    SELECT id FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id
    ORDER BY id FOR UPDATE
) AS j
