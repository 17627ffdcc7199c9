-- $1 lease, $2 worker. Takes the name of a lease that is not granted yet, so that it never is; one row
-- when it was free. Waits for a grant of it that is under way.
INSERT INTO lease (id, worker_id, expires_at)
VALUES ($1::uuid, $2::uuid, now() + interval '1 minute')
ON CONFLICT (id) DO NOTHING
RETURNING id
