-- $1 most leases. Ends leases whose time is over; a heartbeat that came first wins the row.
DELETE FROM lease WHERE id IN (
    SELECT id FROM lease WHERE expires_at < now() ORDER BY id LIMIT $1::int FOR UPDATE SKIP LOCKED
)
RETURNING id
