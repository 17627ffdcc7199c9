-- $1 leases. Every job they hold, locked in order.
SELECT j.lane_id, j.id
FROM span p JOIN job j ON j.lane_id = p.lane_id AND j.id BETWEEN p.first_id AND p.last_id
WHERE p.lease_id = ANY($1::uuid[])
ORDER BY j.id FOR UPDATE OF j
