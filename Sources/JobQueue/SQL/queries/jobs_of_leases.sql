-- $1 leases. Every job they hold, locked in order.
SELECT id, lease_id FROM job WHERE lease_id = ANY($1::uuid[]) ORDER BY id FOR UPDATE
