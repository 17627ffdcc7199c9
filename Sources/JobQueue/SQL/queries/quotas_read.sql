-- $1 worker, pairwise $2 kinds and $3 numbers of resources, whose rows are locked: their limits, what the others
-- hold of them, the worker's own quota, and a number for its next grant.
SELECT u.kind, u.id, r.url, r.is_closed, r.connections AS max_connections, r.requests_per_second,
       r.bytes_per_second, o.users, o.before, o.connections AS others_connections,
       o.requests AS others_requests, o.bytes AS others_bytes,
       m.number, m.since, m.connections, m.requests, m.bytes,
       CASE WHEN m.held_until < clock_timestamp() - g.guard THEN m.connections ELSE m.held_connections END
           AS held_connections,
       CASE WHEN m.held_until < clock_timestamp() - g.guard THEN m.requests ELSE m.held_requests END
           AS held_requests,
       CASE WHEN m.held_until < clock_timestamp() - g.guard THEN m.bytes ELSE m.held_bytes END AS held_bytes,
       coalesce(m.ends_at > clock_timestamp(), false) AS is_user,
       nextval('quota_number') AS next
FROM unnest($2::text[], $3::bigint[]) AS u(kind, id)
CROSS JOIN LATERAL (
    SELECT n.url, false AS is_closed, l.connections::bigint AS connections, l.requests_per_second,
           l.bytes_per_second
    FROM origin n JOIN origin_limit l ON l.id = n.id WHERE u.kind = 'origin' AND n.id = u.id
    UNION ALL
    SELECT '', t.closed, NULL, NULL, t.bytes_per_second
    FROM site t WHERE u.kind = 'site' AND t.id = u.id
) AS r
CROSS JOIN LATERAL (
    SELECT make_interval(secs => 1.1 * greatest(1, 1 / coalesce(r.requests_per_second, 1))) AS guard
) AS g
LEFT JOIN quota m ON m.kind = u.kind AND m.resource_id = u.id AND m.worker_id = $1::uuid
    AND m.ends_at > clock_timestamp() - g.guard
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE q.ends_at > clock_timestamp()) AS users,
           count(*) FILTER (WHERE q.ends_at > clock_timestamp() AND q.worker_id < $1::uuid) AS before,
           coalesce(sum(CASE WHEN h.is_over THEN q.connections ELSE q.held_connections END), 0)::bigint
               AS connections,
           coalesce(sum(CASE WHEN h.is_over THEN q.requests ELSE q.held_requests END), 0)::bigint AS requests,
           coalesce(sum(CASE WHEN h.is_over THEN q.bytes ELSE q.held_bytes END), 0)::bigint AS bytes
    FROM quota q CROSS JOIN LATERAL (
        SELECT q.held_until < clock_timestamp() - g.guard AS is_over
    ) AS h
    WHERE q.kind = u.kind AND q.resource_id = u.id AND q.worker_id <> $1::uuid
      AND q.ends_at > clock_timestamp() - g.guard
) AS o
