-- $1 catalog, or null for the 100 most recent. What is expected in all is an estimate: segments of
-- which nothing is known are taken to be like those that are.
-- What reports have not yet had folded into it counts too.
SELECT c.id, c.name, q.name AS queue, t.storage_url, c.state, c.generation, c.priority,
       extract(epoch FROM c.not_before)::float8 AS not_before,
       extract(epoch FROM c.deadline)::float8 AS deadline, c.assets,
       n.assets_completed, n.assets_failed, n.assets_cancelled, n.segments, n.segments_done, n.segments_failed,
       n.bytes, n.adopted_bytes, n.retries,
       coalesce(extract(epoch FROM coalesce(c.ended_at, now()) - c.started_at), 0)::float8
           AS seconds,
       CASE WHEN f.code IS NOT NULL THEN f.code ELSE coalesce(y.code, r.code, x.trouble_code, b.code) END
           AS trouble_code,
       CASE WHEN f.code IS NOT NULL THEN t.fault_message
            ELSE coalesce(y.message, r.message, x.trouble_message, b.message)
       END AS trouble_message,
       CASE WHEN f.code IS NOT NULL THEN extract(epoch FROM now() - t.fault_since)::float8
            ELSE coalesce(y.seconds, r.seconds, x.trouble_seconds, b.seconds) END AS trouble_seconds,
       extract(epoch FROM c.deadline - coalesce(c.ended_at, now()))::float8 AS deadline_seconds,
       CASE WHEN c.state = 'running' AND c.pace[1] >= extract(epoch FROM c.started_at)
            THEN (extract(epoch FROM now()) - c.pace[1])::float8 END AS pace_seconds,
       n.segments_done + n.segments_failed - c.pace[2] AS pace_segments,
       n.bytes - n.adopted_bytes - c.pace[3] AS pace_bytes,
       p.received AS receiving_bytes,
       CASE WHEN n.segments_done + p.transfers > 0 THEN
           least(n.bytes + p.expected
                 + (n.bytes + p.expected) / (n.segments_done + p.transfers)
                   * greatest(n.segments - n.segments_done - n.segments_failed - p.transfers,
                              0)::numeric,
                 9e18)::bigint
       END AS expected_bytes
FROM catalog c
JOIN queue q ON q.id = c.queue_id
JOIN site t ON t.id = c.site_id
CROSS JOIN LATERAL (
    SELECT (c.assets_completed + coalesce(sum(y.assets_completed), 0))::bigint AS assets_completed,
           (c.assets_failed + coalesce(sum(y.assets_failed), 0))::bigint AS assets_failed,
           (c.assets_cancelled + coalesce(sum(y.assets_cancelled), 0))::bigint AS assets_cancelled,
           (c.segments + coalesce(sum(y.segments), 0))::bigint AS segments,
           (c.segments_done + coalesce(sum(y.segments_done), 0))::bigint AS segments_done,
           (c.segments_failed + coalesce(sum(y.segments_failed), 0))::bigint AS segments_failed,
           (c.bytes + coalesce(sum(y.bytes), 0))::bigint AS bytes,
           (c.adopted_bytes + coalesce(sum(y.adopted_bytes), 0))::bigint AS adopted_bytes,
           (c.retries + coalesce(sum(y.retries), 0))::bigint AS retries
    FROM tally y WHERE y.catalog_id = c.id
) AS n
CROSS JOIN LATERAL (
    SELECT coalesce(sum((e.value->>'receivedBytes')::bigint), 0)::bigint AS received,
           coalesce(sum((e.value->>'expectedBytes')::bigint), 0)::bigint AS expected,
           coalesce(sum((e.value->>'transfers')::bigint), 0)::bigint AS transfers
    FROM worker w, jsonb_each(w.progress) AS e
    CROSS JOIN LATERAL (SELECT catalog_id FROM asset WHERE id = e.key::bigint OFFSET 0) AS a
    WHERE w.last_seen > now() - interval '15 seconds' AND a.catalog_id = c.id
      AND c.state = 'running'
      -- One that has stopped says nothing more, and another goes on with its bytes.
      AND EXISTS (SELECT FROM lease l WHERE l.worker_id = w.id AND l.expires_at > now())
) AS p
-- Nothing of it goes on while its site cannot be written.
CROSS JOIN LATERAL (SELECT CASE WHEN c.state = 'running' THEN t.fault_code END AS code) AS f
-- Nor while no worker that is heard of may write to it; since the last of them came.
LEFT JOIN LATERAL (
    SELECT 'storage.outsideRoots' AS code,
           format('%s lies outside of the roots of all workers: %s', t.storage_url, o.roots) AS message,
           (SELECT extract(epoch FROM now() - max(first_seen)) FROM worker
            WHERE last_seen > now() - interval '60 seconds')::float8 AS seconds
    FROM (SELECT CASE WHEN c.state = 'running' THEN outside_roots(t.id) END AS roots OFFSET 0) AS o
    WHERE o.roots IS NOT NULL
) AS y ON true
-- Nor when all that is left waits for room.
LEFT JOIN LATERAL (
    SELECT (array_agg(d.failure_code ORDER BY d.id))[1] AS code,
           CASE WHEN count(*) > 1 THEN format('%s wait for room; one of them: ', count(*)) ELSE '' END
               || (array_agg(d.failure_message ORDER BY d.id))[1] AS message,
           greatest(extract(epoch FROM now() - min(d.available_at)) + 60, 0)::float8 AS seconds
    FROM delayed_job d
    WHERE d.catalog_id = c.id AND d.failure_code IS NOT NULL AND c.state = 'running'
    HAVING count(*) >= n.segments - n.segments_done - n.segments_failed
) AS r ON true
-- Nor while no worker that is heard of gets work.
LEFT JOIN LATERAL (
    SELECT (array_agg(w.trouble_code ORDER BY w.trouble_since DESC))[1] AS trouble_code,
           (array_agg(w.trouble_message ORDER BY w.trouble_since DESC))[1] AS trouble_message,
           extract(epoch FROM now() - max(w.trouble_since))::float8 AS trouble_seconds
    FROM worker w WHERE w.last_seen > now() - interval '60 seconds' AND c.state = 'running'
    HAVING bool_and(w.trouble_code IS NOT NULL)
) AS x ON true
-- Nor while all its origins that are still to serve something are left alone: until a moment after the time for
-- that, so that one who follows is not told the contrary between two tries, and while they are tried, unless
-- something comes.
LEFT JOIN LATERAL (
    SELECT (array_agg(o.cooldown_reason ORDER BY o.id))[1] AS code,
           CASE WHEN count(*) > 1 THEN format('%s origins, one of them ', count(*)) ELSE '' END
               || (array_agg(o.url ORDER BY o.id))[1] AS message,
           extract(epoch FROM now() - min(s.since))::float8 AS seconds
    FROM (
        SELECT l.origin_id FROM lane l
        WHERE l.queue_id = c.queue_id AND l.catalog_id = c.id AND l.origin_id <> 0
          AND (l.ready_since IS NOT NULL
               -- Or a worker holds some of it. Spans stay when all of them was done.
               OR EXISTS (SELECT FROM span p JOIN lease e ON e.id = p.lease_id
                          WHERE p.lane_id = l.id AND e.expires_at > now()
                            AND EXISTS (SELECT FROM job WHERE lane_id = p.lane_id
                                        AND id BETWEEN p.first_id AND p.last_id)))
        UNION
        SELECT origin_id FROM delayed_job WHERE catalog_id = c.id AND origin_id <> 0
    ) AS l
    JOIN origin o ON o.id = l.origin_id
    CROSS JOIN LATERAL (
        -- Since it was last well.
        SELECT coalesce(min(decided_at), o.noted_at) AS since FROM origin_decision
        WHERE origin_id = o.id AND decision = 'open' AND id > coalesce(
            (SELECT id FROM origin_decision WHERE origin_id = o.id AND decision = 'closed'
             ORDER BY id DESC LIMIT 1), 0)
    ) AS s
    WHERE c.state = 'running' AND p.received = 0
      -- Before what waits is looked through.
      AND EXISTS (SELECT FROM lane e JOIN origin u ON u.id = e.origin_id
                  WHERE e.catalog_id = c.id AND u.breaker IN ('open', 'halfOpen'))
    HAVING bool_and(o.cooldown_reason IS NOT NULL
                    AND (o.breaker = 'halfOpen'
                         OR o.breaker = 'open' AND o.cooldown_until > now() - interval '2 seconds'))
) AS b ON true
-- A range, so that the one is found through the index.
WHERE c.id BETWEEN coalesce($1::bigint, 0) AND coalesce($1::bigint, 9223372036854775807)
ORDER BY c.id DESC LIMIT 100
