DROP FUNCTION claim_jobs, claim_order;
ALTER TABLE catalog DROP COLUMN starts;

-- The lanes of a queue that may be claimed from now, best first. Levels are priorities 0 to 9, with
-- one added for every minute that a lane has waited since its last grant; a deadline raises the
-- level in proportion to the time used, up to 9. Within a level, catalogs come in the order of what
-- they were granted in the last ten seconds, least first; `catalogs_left` counts from the row's
-- catalog to the last of the level. The catalogs of a queue are found by a loose index scan, and up
-- to 64 lanes of each looked at, so that many lanes of one catalog cost the others nothing.
CREATE FUNCTION claim_order(of_queue bigint)
RETURNS TABLE (lane_id bigint, catalog_id bigint, catalogs_left int, rank smallint,
               origin_id bigint, is_guarded boolean) LANGUAGE sql STABLE AS $$
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
            SELECT i.*, i.origin_id <> 0 AND (o.breaker IN ('open', 'halfOpen')
                   OR CASE WHEN o.has_own_limits THEN coalesce(o.max_connections::float8,
                               o.requests_per_second, o.bytes_per_second) IS NOT NULL
                           ELSE d.is_limited END) AS is_guarded
            FROM lane i JOIN origin o ON o.id = i.origin_id
            CROSS JOIN (SELECT coalesce(max_connections::float8, requests_per_second,
                                        bytes_per_second) IS NOT NULL AS is_limited
                        FROM origin WHERE id = 0) AS d
            WHERE i.queue_id = of_queue AND i.catalog_id = w.catalog_id
              AND i.ready_since IS NOT NULL
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
        WHERE c.not_before IS NULL OR c.not_before <= now()
    ), shared AS (
        SELECT *, sum(jobs) OVER (PARTITION BY lanes.catalog_id) AS granted FROM lanes
    )
    SELECT id, shared.catalog_id,
           (dense_rank() OVER (PARTITION BY level
                               ORDER BY granted DESC, shared.catalog_id DESC))::int,
           shared.rank, shared.origin_id, shared.is_guarded
    FROM shared
    ORDER BY level DESC, granted, shared.catalog_id, shared.rank, jobs, id
    LIMIT 256
$$;

-- Grants up to `most` jobs of a lane, whose row the caller has locked, to a lease. Returns how many.
CREATE FUNCTION claim_lane(of_lane bigint, to_lease uuid, most int) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    place bigint;
    found_first bigint;
    found_last bigint;
    n int;
BEGIN
    SELECT coalesce((SELECT last_id FROM span WHERE lane_id = of_lane
                     ORDER BY last_id DESC LIMIT 1), 0) INTO place;
    SELECT min(id), max(id), count(*) INTO found_first, found_last, n
    FROM (SELECT id FROM job WHERE lane_id = of_lane AND id > place ORDER BY id LIMIT most) AS j;
    IF n > 0 THEN
        INSERT INTO span (lane_id, first_id, last_id, lease_id, jobs)
        VALUES (of_lane, found_first, found_last, to_lease, n);
    END IF;
    IF n < most THEN
        UPDATE lane SET ready_since = NULL WHERE id = of_lane;
    END IF;
    RETURN n;
END $$;

-- Claims up to `most` jobs of a queue under a new lease and answers with what they need to be done,
-- in the order of their lanes. Catalogs of one level share what is claimed; what they leave goes to
-- the next level. A lane that another claim has locked is passed over, unless nothing else is found.
CREATE FUNCTION claim_jobs(of_queue bigint, to_lease uuid, of_worker uuid, seconds float8, most int)
RETURNS TABLE (job bigint, kind text, attempt int, asset bigint, site bigint, storage_url text,
       asset_kind text, url text, key text, role text, range_offset bigint, length bigint,
       sha256 text, assembly uuid, total_bytes bigint, validator text, known_bytes bigint,
       known_sha256 text, is_guarded boolean) LANGUAGE plpgsql AS $$
DECLARE
    lanes bigint[];
    catalogs bigint[];
    lefts int[];
    ranks smallint[];
    origins bigint[];
    guarded boolean[];
    remaining int := most;
    quota int;
    want int;
    got int;
    allowance int;
    passed_over boolean := false;
    is_open boolean[];
BEGIN
    IF NOT EXISTS (SELECT FROM queue q JOIN site t ON t.id = q.site_id
                   WHERE q.id = of_queue AND q.state <> 'paused' AND NOT t.closed) THEN
        RETURN;
    END IF;
    -- A claim that a crash of the server takes back is a lease that was lost: nothing to wait for the
    -- disk for.
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM promote_jobs(of_queue);
    SELECT array_agg(o.lane_id), array_agg(o.catalog_id), array_agg(o.catalogs_left),
           array_agg(o.rank), array_agg(o.origin_id), array_agg(o.is_guarded), array_agg(true)
    INTO lanes, catalogs, lefts, ranks, origins, guarded, is_open
    FROM claim_order(of_queue) AS o;
    IF lanes IS NULL THEN RETURN; END IF;
    INSERT INTO lease (id, worker_id, expires_at)
    VALUES (to_lease, of_worker, now() + make_interval(secs => seconds));
    -- First a fair share each, then whatever is left, last of all what another claim is busy with.
    FOR pass IN 1..3 LOOP
        EXIT WHEN remaining = 0 OR (pass = 3 AND (remaining < most OR NOT passed_over));
        quota := remaining;
        FOR i IN 1..cardinality(lanes) LOOP
            EXIT WHEN remaining = 0 OR (pass = 3 AND remaining < most);
            IF pass = 1 AND (i = 1 OR catalogs[i] <> catalogs[i - 1]) THEN
                quota := ceil(remaining::float8 / lefts[i]);
            END IF;
            want := least(quota, remaining);
            -- A manifest becomes many jobs: a tenth of what is claimed, unless there is nothing else.
            IF pass = 1 AND ranks[i] = 2 THEN want := least(want, greatest(most / 10, 1)); END IF;
            CONTINUE WHEN want = 0 OR NOT is_open[i];
            IF pass < 3 THEN
                PERFORM FROM lane WHERE id = lanes[i] FOR UPDATE SKIP LOCKED;
            ELSE
                PERFORM FROM lane WHERE id = lanes[i] FOR UPDATE;
            END IF;
            IF NOT FOUND THEN
                passed_over := true;
                CONTINUE;
            END IF;
            IF guarded[i] THEN
                allowance := origin_allowance(origins[i], of_worker, seconds);
                is_open[i] := allowance > want;
                want := least(want, allowance);
                CONTINUE WHEN want = 0;
            END IF;
            got := claim_lane(lanes[i], to_lease, want);
            is_open[i] := is_open[i] AND got = want;
            remaining := remaining - got;
            IF pass = 1 THEN quota := quota - got; ELSE quota := remaining; END IF;
        END LOOP;
    END LOOP;
    IF remaining = most THEN
        DELETE FROM lease WHERE id = to_lease;
        RETURN;
    END IF;
    RETURN QUERY
    WITH held AS (
        -- OFFSET 0 keeps the range of the span an index condition, whatever the statistics say.
        SELECT j.*, l.catalog_id FROM span p JOIN lane l ON l.id = p.lane_id
        CROSS JOIN LATERAL (
            SELECT * FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id OFFSET 0
        ) AS j
        WHERE p.lease_id = to_lease
    )
    SELECT d.*, coalesce(true = ANY(guarded), false) FROM (
    SELECT j.id, j.kind, j.attempt + 1, j.asset_id, c.site_id, t.storage_url, a.kind,
           coalesce(s.url, a.url), coalesce(d.path, s.key, a.key), s.role,
           s.range_offset, coalesce(s.range_length, s.expected_bytes), s.expected_sha256,
           y.id, y.total_bytes, y.validator, r.bytes, r.sha256
    FROM held j
    JOIN catalog c ON c.id = j.catalog_id
    JOIN site t ON t.id = c.site_id
    -- Only a manifest's job needs its asset: for the others the filter answers without a look.
    LEFT JOIN LATERAL (
        SELECT x.kind, x.url, x.key FROM asset x WHERE x.id = j.asset_id AND j.kind = 'resolve' OFFSET 0
    ) AS a ON true
    LEFT JOIN segment s ON s.id = j.segment_id
    LEFT JOIN assembly y ON y.segment_id = j.whole_id
    LEFT JOIN result r ON r.segment_id = s.id AND r.done
    LEFT JOIN directory d ON d.id = j.directory_id
    ) AS d;
END $$;
