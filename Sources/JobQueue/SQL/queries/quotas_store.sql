-- $1 worker, of each quota $2 kind, $3 resource, $4 number, $5 first number with its amounts, $6 connections,
-- $7 requests and $8 bytes that it grants, $9 to $11 the same as held, $12 transfers under way and $13 seconds
-- that it lasts, 0 for one that has ended.
INSERT INTO quota AS q (kind, resource_id, worker_id, number, since, connections, requests, bytes,
    held_connections, held_requests, held_bytes, active, held_until, ends_at)
SELECT u.kind, u.id, $1::uuid, u.number, u.since, u.c, u.r, u.b, u.hc, u.hr, u.hb, u.active,
       CASE WHEN u.seconds = 0 THEN 'infinity' ELSE clock_timestamp() + make_interval(secs => u.seconds) END,
       clock_timestamp() + make_interval(secs => u.seconds)
FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
            $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::int[], $13::float8[])
     AS u(kind, id, number, since, c, r, b, hc, hr, hb, active, seconds)
ON CONFLICT (kind, resource_id, worker_id) DO UPDATE SET number = excluded.number,
    since = excluded.since, connections = excluded.connections, requests = excluded.requests,
    bytes = excluded.bytes, held_connections = excluded.held_connections,
    held_requests = excluded.held_requests, held_bytes = excluded.held_bytes,
    held_until = CASE WHEN excluded.since = q.since AND excluded.held_until < 'infinity' THEN q.held_until
                      ELSE excluded.held_until END,
    active = coalesce(excluded.active, q.active), ends_at = excluded.ends_at
