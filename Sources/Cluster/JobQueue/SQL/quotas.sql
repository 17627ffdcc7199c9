-- Quotas of the limits of origins and sites, by worker.

-- name: concerned
-- The resources whose quotas concern a worker: those that it holds jobs of or has a quota of, and
-- @origins and @sites, whose quotas it reports.
SELECT kind, id, is_held FROM quota_resources(@worker::uuid, @origins::text[], @sites::bigint[])

-- name: lockOrigins
-- The transaction that divides their limits has locked their rows.
SELECT id FROM origin WHERE id = ANY(@origins::bigint[]) ORDER BY id FOR NO KEY UPDATE

-- name: lockSites
-- The transaction that divides their limits has locked their rows.
SELECT id FROM site WHERE id = ANY(@sites::bigint[]) ORDER BY id FOR NO KEY UPDATE

-- name: read
-- Pairwise kinds and numbers of resources, whose rows are locked: their limits, what the others
-- hold of them, the worker's own quota, and a number for its next grant.
SELECT u.kind, u.id, r.url, r.is_closed, r.connections AS max_connections, r.requests_per_second,
       r.bytes_per_second, o.users, o.before, o.connections AS others_connections,
       o.requests AS others_requests, o.bytes AS others_bytes,
       m.number, m.since, m.connections, m.requests, m.bytes,
       CASE WHEN m.held_until < clock_timestamp() - g.guard THEN m.connections
            ELSE m.held_connections END AS held_connections,
       CASE WHEN m.held_until < clock_timestamp() - g.guard THEN m.requests ELSE m.held_requests END
           AS held_requests,
       CASE WHEN m.held_until < clock_timestamp() - g.guard THEN m.bytes
            ELSE m.held_bytes END AS held_bytes,
       coalesce(m.ends_at > clock_timestamp(), false) AS is_user,
       nextval('quota_number') AS next
FROM unnest(@kinds::text[], @resources::bigint[]) AS u(kind, id)
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
LEFT JOIN quota m ON m.kind = u.kind AND m.resource_id = u.id AND m.worker_id = @worker::uuid
    AND m.ends_at > clock_timestamp() - g.guard
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE q.ends_at > clock_timestamp()) AS users,
           count(*) FILTER (WHERE q.ends_at > clock_timestamp()
                            AND q.worker_id < @worker::uuid) AS before,
           coalesce(sum(CASE WHEN h.is_over THEN q.connections ELSE q.held_connections END),
                    0)::bigint
               AS connections,
           coalesce(sum(CASE WHEN h.is_over THEN q.requests ELSE q.held_requests END),
                    0)::bigint AS requests,
           coalesce(sum(CASE WHEN h.is_over THEN q.bytes ELSE q.held_bytes END), 0)::bigint AS bytes
    FROM quota q CROSS JOIN LATERAL (
        SELECT q.held_until < clock_timestamp() - g.guard AS is_over
    ) AS h
    WHERE q.kind = u.kind AND q.resource_id = u.id AND q.worker_id <> @worker::uuid
      AND q.ends_at > clock_timestamp() - g.guard
) AS o

-- name: store
-- Pairwise. @since is the first number with the same amounts, @active the transfers under way,
-- @seconds how long it lasts: 0 for one that has ended.
INSERT INTO quota AS q (kind, resource_id, worker_id, number, since, connections, requests, bytes,
    held_connections, held_requests, held_bytes, active, held_until, ends_at)
SELECT u.kind, u.id, @worker::uuid, u.number, u.since, u.c, u.r, u.b, u.hc, u.hr, u.hb, u.active,
       CASE WHEN u.seconds = 0 THEN 'infinity'
           ELSE clock_timestamp() + make_interval(secs => u.seconds) END,
       clock_timestamp() + make_interval(secs => u.seconds)
FROM unnest(@kinds::text[], @resources::bigint[], @numbers::bigint[], @since::bigint[],
            @connections::bigint[], @requests::bigint[], @bytes::bigint[],
            @held_connections::bigint[], @held_requests::bigint[], @held_bytes::bigint[],
            @active::int[], @seconds::float8[])
     AS u(kind, id, number, since, c, r, b, hc, hr, hb, active, seconds)
ON CONFLICT (kind, resource_id, worker_id) DO UPDATE SET number = excluded.number,
    since = excluded.since, connections = excluded.connections, requests = excluded.requests,
    bytes = excluded.bytes, held_connections = excluded.held_connections,
    held_requests = excluded.held_requests, held_bytes = excluded.held_bytes,
    held_until = CASE WHEN excluded.since = q.since AND excluded.held_until < 'infinity'
                      THEN q.held_until
                      ELSE excluded.held_until END,
    active = coalesce(excluded.active, q.active), ends_at = excluded.ends_at

-- name: drop
-- Pairwise kinds and numbers of resources that the worker uses nothing of any more.
DELETE FROM quota q USING unnest(@kinds::text[], @resources::bigint[]) AS u(kind, id)
WHERE q.worker_id = @worker::uuid AND q.kind = u.kind AND q.resource_id = u.id

-- name: end
-- Ends the quotas of workers that hold no jobs of what they are of, unless a worker may not
-- know yet that what it held was cancelled. One that was granted again meanwhile has another
-- number.
WITH idle AS MATERIALIZED (
    SELECT q.kind, q.resource_id, q.worker_id, q.number
    FROM quota q
    WHERE q.ends_at > clock_timestamp()
      AND NOT EXISTS (
          SELECT FROM lease e
          JOIN span p ON p.lease_id = e.id
          CROSS JOIN LATERAL (
              SELECT FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id
                  LIMIT 1
          ) AS j
          JOIN lane l ON l.id = p.lane_id
          JOIN queue u ON u.id = l.queue_id
          WHERE e.worker_id = q.worker_id
            AND CASE q.kind WHEN 'origin' THEN l.origin_id ELSE u.site_id END = q.resource_id)
      AND NOT EXISTS (SELECT FROM lease e JOIN cancelled_job x ON x.lease_id = e.id
                      WHERE e.worker_id = q.worker_id)
), ended AS (
    UPDATE quota q SET ends_at = clock_timestamp()
    FROM idle i
    WHERE q.kind = i.kind AND q.resource_id = i.resource_id AND q.worker_id = i.worker_id
      AND q.number = i.number
    RETURNING q.number
)
SELECT count(*) AS ended FROM ended

-- name: ofSites
-- Workers' quotas of sites' bandwidths.
SELECT q.resource_id AS site_id, q.worker_id, coalesce(w.name, '') AS name,
       q.held_bytes AS bytes_per_second
FROM quota q LEFT JOIN worker w ON w.id = q.worker_id
WHERE q.kind = 'site' AND q.ends_at > clock_timestamp() AND q.held_bytes IS NOT NULL
ORDER BY q.resource_id, w.name, q.worker_id
