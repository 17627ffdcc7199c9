-- The lanes of a queue: what is due enters them, and in which order claims take them.

-- name: promote_jobs
-- Puts what is due into its lanes. Up to 1,000 a call. Planned with the settings of `claim_jobs`.
CREATE OR REPLACE FUNCTION promote_jobs(of_queue bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    due bigint[];
BEGIN
    due := ARRAY(SELECT id FROM delayed_job WHERE queue_id = of_queue AND available_at <= now()
                 ORDER BY available_at, id LIMIT 1000 FOR UPDATE SKIP LOCKED);
    IF cardinality(due) = 0 THEN RETURN; END IF;
    INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
    SELECT DISTINCT d.queue_id, d.catalog_id, d.origin_id, d.rank, d.own_priority
    FROM delayed_job d
    WHERE d.id = ANY(due)
      AND NOT EXISTS (SELECT FROM lane l WHERE (l.catalog_id, l.origin_id, l.rank, l.own_priority)
                      = (d.catalog_id, d.origin_id, d.rank, d.own_priority))
    ORDER BY 2, 3, 4, 5
    ON CONFLICT DO NOTHING;
    -- Each lane's lock before any of its numbers is drawn.
    PERFORM l.id FROM lane l
    WHERE l.id = ANY(ARRAY(
        SELECT m.id FROM delayed_job d JOIN lane m
            ON (m.catalog_id, m.origin_id, m.rank, m.own_priority)
               = (d.catalog_id, d.origin_id, d.rank, d.own_priority)
        WHERE d.id = ANY(due)))
    ORDER BY l.id FOR UPDATE;
    WITH moved AS (
        DELETE FROM delayed_job WHERE id = ANY(due) RETURNING *
    ), placed AS (
        SELECT l.id AS lane_id, m.* FROM moved m
        JOIN lane l ON (l.catalog_id, l.origin_id, l.rank, l.own_priority)
            = (m.catalog_id, m.origin_id, m.rank, m.own_priority)
    ), inserted AS (
        INSERT INTO job (lane_id, asset_id, segment_id, whole_id, directory_id, kind, attempt)
        SELECT lane_id, asset_id, segment_id, whole_id, directory_id, kind, attempt
        FROM placed ORDER BY available_at, id
    )
    UPDATE lane SET ready_since = now()
    WHERE id = ANY(ARRAY(SELECT lane_id FROM placed)) AND ready_since IS NULL AND own_priority >= -1;
END $$

-- name: claim_order
-- The lanes of a queue that may be claimed from now, best first. Levels are priorities 0 to 9, with
-- one added for every minute that a lane has waited since its last grant; a deadline raises the
-- level in proportion to the time used, up to 9. Within a level, catalogs come in the order of what
-- they were granted in the last ten seconds, least first; `catalogs_left` counts from the row's
-- catalog to the last of the level. The catalogs of a queue are found by a loose index scan, and up
-- to 64 lanes of each are read, so that many lanes of one catalog cost the others nothing. Isolated
-- lanes are not among them.
CREATE OR REPLACE FUNCTION claim_order(of_queue bigint)
RETURNS TABLE (lane_id bigint, catalog_id bigint, catalogs_left int, rank smallint,
               origin_id bigint, is_guarded boolean, level int) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE waiting AS (
        (SELECT l.catalog_id FROM lane l
         WHERE l.queue_id = of_queue AND l.ready_since IS NOT NULL
         ORDER BY l.catalog_id LIMIT 1)
        UNION ALL
        SELECT n.catalog_id FROM waiting w CROSS JOIN LATERAL (
            SELECT l.catalog_id FROM lane l
            WHERE l.queue_id = of_queue AND l.ready_since IS NOT NULL
              AND l.catalog_id > w.catalog_id
            ORDER BY l.catalog_id LIMIT 1
        ) AS n
    ), lanes AS (
        SELECT l.id, l.catalog_id, l.rank, l.origin_id, l.is_guarded, r.jobs,
               floor(b.base + (9 - b.base) * b.used
                     + extract(epoch FROM now() - greatest(l.ready_since, r.granted_at)) / 60
               )::int AS level
        FROM waiting w
        JOIN catalog c ON c.id = w.catalog_id
        CROSS JOIN LATERAL (
            SELECT i.*, i.origin_id <> 0 AND (o.breaker IN ({{breakerOpen}})
                   OR CASE WHEN o.has_own_limits THEN coalesce(o.max_connections::float8,
                               o.requests_per_second, o.bytes_per_second) IS NOT NULL
                           ELSE d.is_limited END) AS is_guarded
            FROM lane i JOIN origin o ON o.id = i.origin_id
            CROSS JOIN (SELECT coalesce(max_connections::float8, requests_per_second,
                                        bytes_per_second) IS NOT NULL AS is_limited
                        FROM origin WHERE id = 0) AS d
            WHERE i.queue_id = of_queue AND i.catalog_id = w.catalog_id
              AND i.ready_since IS NOT NULL AND i.rank < 4
              AND (o.cooldown_until IS NULL OR o.cooldown_until <= now())
            ORDER BY i.rank, i.id LIMIT 64
        ) AS l
        CROSS JOIN LATERAL (
            SELECT CASE WHEN l.own_priority < 0 THEN c.priority ELSE l.own_priority END AS base,
                   CASE WHEN c.deadline IS NULL OR c.started_at IS NULL THEN 0
                        WHEN c.deadline <= now() THEN 1
                        ELSE extract(epoch FROM now() - c.started_at)
                             / extract(epoch FROM c.deadline - c.started_at) END AS used
        ) AS b
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(s.jobs) FILTER (WHERE s.granted_at > now() - interval '10 s'), 0)
                       AS jobs,
                   max(s.granted_at) AS granted_at
            FROM (SELECT jobs, granted_at FROM span WHERE span.lane_id = l.id
                  ORDER BY last_id DESC LIMIT 10) AS s
        ) AS r
        WHERE c.not_before IS NULL OR c.not_before <= now() OR l.rank = -1
    ), shared AS (
        SELECT *, sum(jobs) OVER (PARTITION BY lanes.catalog_id) AS granted FROM lanes
    )
    SELECT id, shared.catalog_id,
           (dense_rank() OVER (PARTITION BY level
                               ORDER BY granted DESC, shared.catalog_id DESC))::int,
           shared.rank, shared.origin_id, shared.is_guarded, shared.level
    FROM shared
    ORDER BY level DESC, granted, shared.catalog_id, shared.rank, jobs, id
    LIMIT 256
$$

-- name: isolated_lanes
-- The isolated lanes of a queue that may be claimed from now, those that wait longest first.
CREATE OR REPLACE FUNCTION isolated_lanes(of_queue bigint)
RETURNS TABLE (lane_id bigint, origin_id bigint, is_guarded boolean) LANGUAGE sql STABLE AS $$
    SELECT l.id, o.id,
           o.id <> 0 AND (o.breaker IN ({{breakerOpen}}) OR EXISTS (
               SELECT FROM origin_limit m WHERE m.id = o.id
               AND coalesce(m.connections::float8, m.requests_per_second, m.bytes_per_second)
                   IS NOT NULL))
    FROM lane l
    JOIN origin o ON o.id = l.origin_id
    JOIN catalog c ON c.id = l.catalog_id
    WHERE l.queue_id = of_queue AND l.rank = 4 AND l.ready_since IS NOT NULL
      AND (o.cooldown_until IS NULL OR o.cooldown_until <= now())
      AND (c.not_before IS NULL OR c.not_before <= now())
    ORDER BY l.ready_since, l.id LIMIT 64
$$

-- name: queues_with_work
-- Queues that have a job to lease now; `names` is empty for all. Workers that wait ask for it often: it
-- is planned once a session.
CREATE OR REPLACE FUNCTION queues_with_work(names text[])
RETURNS TABLE (id bigint, site_id bigint, storage_url text, name text, cluster uuid)
LANGUAGE plpgsql STABLE {{plannedByIndex}} AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT q.id, q.site_id, t.storage_url, q.name, (SELECT c.id FROM cluster c)
    FROM queue q JOIN site t ON t.id = q.site_id
    WHERE (cardinality(names) = 0 OR q.name = ANY(names))
      AND q.state <> 'paused'
      AND CASE WHEN t.closed
               THEN {{mayDelete}} AND (
                   EXISTS (SELECT FROM delayed_job d WHERE d.queue_id = q.id AND d.kind = 'purge'
                               AND d.available_at <= now())
                   OR EXISTS (SELECT FROM claim_order(q.id) AS o WHERE o.rank = -1))
               ELSE EXISTS (SELECT FROM delayed_job d
                            WHERE d.queue_id = q.id AND d.available_at <= now())
                   OR EXISTS (SELECT FROM claim_order(q.id))
                   OR EXISTS (SELECT FROM isolated_lanes(q.id)) END;
END
$$
