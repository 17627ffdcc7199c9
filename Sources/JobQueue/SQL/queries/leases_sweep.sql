-- $1 most leases, $2 seconds that a lease lasts. Ends leases whose time is over; a heartbeat that came first
-- wins the row. Of each, its worker, and whether that is thought dead: not heard of when it was to extend
-- the lease, nor since, while coordinators served all that time. A job that is tried alone is left a lease's time longer, so that a worker that
-- only lost its connection is heard of before its job is held against it.
DELETE FROM lease e WHERE id IN (
    SELECT id FROM lease
    WHERE expires_at < now()
      AND (NOT isolated OR expires_at < now() - make_interval(secs => $2::float8))
    ORDER BY id LIMIT $1::int FOR UPDATE SKIP LOCKED
)
RETURNING id, worker_id, (SELECT name FROM worker w WHERE w.id = e.worker_id) AS worker_name,
    NOT EXISTS (SELECT FROM worker w WHERE w.id = e.worker_id
                AND w.last_seen > e.expires_at - make_interval(secs => $2::float8 / 2))
    AND (SELECT served_since <= e.expires_at - make_interval(secs => $2::float8) FROM cluster) AS is_dead
