-- Lanes: the queue hands out jobs by (catalog, origin), and claims write no job.
--
-- A lane's jobs are numbered in the order of their commits, because whoever adds to a lane holds its
-- row's lock. A claim takes the numbers after the last span of the lane, under the same lock, and
-- writes one span: from the first job to the last. Jobs are inserted and deleted, never updated when
-- they are claimed, retried or lost: what is tried again gets a new number, so that a number is
-- granted at most once. Nothing on the way of a claim or a report updates a row that the next one
-- needs, so that an old open transaction does not make either slow.

CREATE TEMPORARY TABLE old_job ON COMMIT DROP AS
SELECT j.*, s.parent_id FROM job j LEFT JOIN segment s ON s.id = j.segment_id;
DROP TABLE job;
TRUNCATE lease;

ALTER TABLE queue ADD COLUMN state text NOT NULL DEFAULT 'active'
    CHECK (state IN ('active', 'paused', 'draining'));

ALTER TABLE site ADD COLUMN schedule text NOT NULL DEFAULT '',
    -- Now, by its schedule: nothing may be fetched; the most bytes a second, or null.
    ADD COLUMN closed boolean NOT NULL DEFAULT false,
    ADD COLUMN bytes_per_second bigint CHECK (bytes_per_second > 0);

ALTER TABLE catalog ADD COLUMN not_before timestamptz, ADD COLUMN deadline timestamptz;

-- An asset's own priority, before its catalog's.
ALTER TABLE asset ADD COLUMN priority smallint CHECK (priority BETWEEN 0 AND 9);

-- The most that all workers together may ask of an origin; null is no limit. The row of number 0 is
-- for those that have none of their own.
ALTER TABLE origin ADD COLUMN max_connections int CHECK (max_connections > 0),
    ADD COLUMN requests_per_second float8 CHECK (requests_per_second > 0),
    ADD COLUMN bytes_per_second bigint CHECK (bytes_per_second > 0),
    ADD COLUMN has_own_limits boolean NOT NULL DEFAULT false,
    ADD COLUMN breaker text NOT NULL DEFAULT 'closed'
        CHECK (breaker IN ('closed', 'open', 'halfOpen', 'failing')),
    -- Failures in a row that speak against the origin; a success sets it to 0.
    ADD COLUMN failures int NOT NULL DEFAULT 0,
    -- How often the breaker opened since the last success.
    ADD COLUMN openings int NOT NULL DEFAULT 0;
INSERT INTO origin (id, url) OVERRIDING SYSTEM VALUE VALUES (0, '');
CREATE INDEX origin_cooling ON origin (cooldown_until) WHERE cooldown_until IS NOT NULL;
CREATE INDEX lease_of_worker ON lease (worker_id);

-- The limits in force.
CREATE VIEW origin_limit AS
SELECT o.id, CASE WHEN o.has_own_limits THEN o.max_connections ELSE d.max_connections END
           AS connections,
       CASE WHEN o.has_own_limits THEN o.requests_per_second ELSE d.requests_per_second END
           AS requests_per_second,
       CASE WHEN o.has_own_limits THEN o.bytes_per_second ELSE d.bytes_per_second END
           AS bytes_per_second
FROM origin o, origin d WHERE d.id = 0 AND o.id <> 0;

-- What was decided about an origin, and why; pruned to the latest of each.
CREATE TABLE origin_decision (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    origin_id bigint NOT NULL,
    -- Null for what the cluster decided.
    worker_id uuid,
    decided_at timestamptz NOT NULL DEFAULT now(),
    decision text NOT NULL,
    reason text NOT NULL,
    concurrency int,
    bytes_per_second bigint
);
CREATE INDEX origin_decision_of ON origin_decision (origin_id, id);

-- What of an origin's limits a worker has, until when: its row that ends last is its share, others
-- are what it had before and may use until it hears of the change. One of 0 connections says that it
-- waits for a share. Rows are added up until a second after their end, because requests of the last
-- second still count. Written under the lock of the origin's row.
CREATE TABLE origin_share (
    origin_id bigint NOT NULL,
    worker_id uuid NOT NULL,
    connections int,
    requests_per_second float8,
    bytes_per_second bigint,
    ends_at timestamptz NOT NULL
);
CREATE INDEX origin_share_of ON origin_share (origin_id, worker_id);
CREATE INDEX origin_share_of_worker ON origin_share (worker_id);

CREATE TABLE lane (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id bigint NOT NULL,
    catalog_id bigint NOT NULL,
    -- 0 for jobs that ask no origin.
    origin_id bigint NOT NULL,
    -- What a catalog's lanes are served by: 0 what ends a file or a directory, 1 what was tried
    -- before, 2 manifests, 3 segments.
    rank smallint NOT NULL CHECK (rank BETWEEN 0 AND 3),
    -- Of assets with a priority of their own; -1: the catalog's.
    own_priority smallint NOT NULL CHECK (own_priority BETWEEN -1 AND 9),
    -- Since when it may have jobs to claim; null when it has none.
    ready_since timestamptz,
    UNIQUE (catalog_id, origin_id, rank, own_priority)
) WITH (fillfactor = 50);
CREATE INDEX lane_ready ON lane (queue_id, catalog_id, rank, id) WHERE ready_since IS NOT NULL;

CREATE TABLE job (
    lane_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- resolve, fetch, verify: the asset; sums: 0.
    asset_id bigint NOT NULL,
    segment_id bigint,
    -- Of a part, and of a verification: the segment of the whole file.
    whole_id bigint,
    directory_id bigint,
    kind text NOT NULL CHECK (kind IN ({{jobKinds}})),
    -- Tries before this one.
    attempt smallint NOT NULL,
    PRIMARY KEY (lane_id, id),
    CHECK ((segment_id IS NOT NULL) = (kind IN ('fetch', 'verify'))),
    CHECK ((directory_id IS NOT NULL) = (kind = 'sums'))
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX job_of_whole ON job (whole_id) WHERE whole_id IS NOT NULL;

-- Jobs on their way to a lane: not due yet, or added by a report, which takes no lane's lock.
CREATE TABLE delayed_job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id bigint NOT NULL,
    catalog_id bigint NOT NULL,
    origin_id bigint NOT NULL,
    rank smallint NOT NULL,
    own_priority smallint NOT NULL,
    asset_id bigint NOT NULL,
    segment_id bigint,
    whole_id bigint,
    directory_id bigint,
    kind text NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    available_at timestamptz NOT NULL DEFAULT now()
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX delayed_job_due ON delayed_job (queue_id, available_at);
CREATE INDEX delayed_job_of_catalog ON delayed_job (catalog_id);
CREATE INDEX delayed_job_of_whole ON delayed_job (whole_id) WHERE whole_id IS NOT NULL;

-- The jobs of one lane that a lease holds, from the first to the last. The last one of a lane also
-- says where the next claim begins, and stays until there is a later one.
CREATE TABLE span (
    lane_id bigint NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    lease_id uuid NOT NULL,
    jobs int NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (lane_id, last_id),
    CHECK (first_id <= last_id)
);
CREATE INDEX span_of_lease ON span (lease_id);

-- Jobs that were cancelled while a lease held them: its worker is told at its next heartbeat.
CREATE TABLE cancelled_job (
    lease_id uuid NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (lease_id, job_id)
);

-- What reports added to counts and is not in them yet: a row a batch, so that reports do not queue
-- for the row of a catalog, a directory or a title. With an asset: segments of it that are done, to
-- be added to the asset, its directory and its catalog; without one, the asset has them already.
CREATE TABLE tally (
    id bigint GENERATED ALWAYS AS IDENTITY,
    catalog_id bigint NOT NULL,
    asset_id bigint,
    directory_id bigint,
    assets_completed int NOT NULL DEFAULT 0,
    assets_failed int NOT NULL DEFAULT 0,
    segments int NOT NULL DEFAULT 0,
    segments_done int NOT NULL DEFAULT 0,
    segments_failed int NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    adopted_bytes bigint NOT NULL DEFAULT 0,
    retries int NOT NULL DEFAULT 0,
    sums_ended int NOT NULL DEFAULT 0,
    sums_failed int NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX tally_of_catalog ON tally (catalog_id);

INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority, ready_since)
SELECT DISTINCT queue_id, catalog_id, coalesce(origin_id, 0),
       CASE WHEN kind IN ('verify', 'sums') THEN 0 WHEN kind = 'resolve' THEN 2 ELSE 3 END, -1,
       now()
FROM old_job;
INSERT INTO job (lane_id, asset_id, segment_id, whole_id, directory_id, kind, attempt)
SELECT l.id, j.asset_id, j.segment_id,
       CASE WHEN j.kind = 'verify' THEN j.segment_id ELSE j.parent_id END, j.directory_id, j.kind,
       j.attempt
FROM old_job j
JOIN lane l ON l.catalog_id = j.catalog_id AND l.origin_id = coalesce(j.origin_id, 0)
    AND l.rank = CASE WHEN j.kind IN ('verify', 'sums') THEN 0 WHEN j.kind = 'resolve' THEN 2
                      ELSE 3 END
ORDER BY j.priority DESC, j.available_at, j.id;

-- Puts what is due into its lanes. Up to 1,000 a call.
CREATE FUNCTION promote_jobs(of_queue bigint) RETURNS void LANGUAGE plpgsql AS $$
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
    WHERE id = ANY(ARRAY(SELECT lane_id FROM placed)) AND ready_since IS NULL;
END $$;

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

-- Jobs of an origin that a worker holds.
CREATE FUNCTION jobs_held(of_origin bigint, by_worker uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(*)
    FROM lease e
    JOIN span p ON p.lease_id = e.id
    JOIN lane l ON l.id = p.lane_id AND l.origin_id = of_origin
    CROSS JOIN LATERAL (
        SELECT FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id OFFSET 0
    ) AS j
    WHERE e.worker_id = by_worker
$$;

-- Gives a worker its share of an origin's limits for some seconds, or renews it: an equal part of
-- each limit, as far as the others leave it. The origin's row is locked by the caller. Returns how
-- many jobs of the origin the worker should hold at most, 0 when there is no share for it; null when
-- the origin has no limits.
CREATE FUNCTION share_origin(of_origin bigint, of_worker uuid, seconds float8) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    most record;
    used record;
    mine record;
    sharers int;
    c int;
    r float8;
    b bigint;
    guard interval;
BEGIN
    SELECT * INTO most FROM origin_limit WHERE id = of_origin;
    IF most.connections IS NULL AND most.requests_per_second IS NULL
       AND most.bytes_per_second IS NULL THEN
        RETURN NULL;
    END IF;
    guard := make_interval(secs => 1.1 * greatest(1, 1 / coalesce(most.requests_per_second, 1)));
    DELETE FROM origin_share WHERE origin_id = of_origin AND ends_at <= clock_timestamp() - guard;
    -- A share that nothing is held for has ended, unless its worker may not have heard yet that what
    -- it held was cancelled.
    UPDATE origin_share s SET ends_at = clock_timestamp()
    WHERE origin_id = of_origin AND worker_id <> of_worker AND ends_at > clock_timestamp()
      AND connections IS DISTINCT FROM 0 AND jobs_held(of_origin, worker_id) = 0
      AND NOT EXISTS (SELECT FROM lease e JOIN cancelled_job x ON x.lease_id = e.id
                      WHERE e.worker_id = s.worker_id);
    SELECT ctid AS place, * INTO mine FROM origin_share
    WHERE origin_id = of_origin AND worker_id = of_worker ORDER BY ends_at DESC LIMIT 1;
    SELECT coalesce(sum(connections), 0) AS connections,
           coalesce(sum(requests_per_second), 0) AS requests_per_second,
           coalesce(sum(bytes_per_second), 0) AS bytes_per_second
    INTO used FROM origin_share
    WHERE origin_id = of_origin AND ctid IS DISTINCT FROM mine.place;
    SELECT count(DISTINCT worker_id) + 1 INTO sharers FROM origin_share
    WHERE origin_id = of_origin AND worker_id <> of_worker AND ends_at > clock_timestamp();
    -- A limit that is null stays null: no part of it, and none to compare.
    c := CASE WHEN most.connections IS NOT NULL THEN
              least(greatest(most.connections / sharers, 1),
                    most.connections - used.connections) END;
    -- Whole requests a second add up in every second; less than one a second is one worker's.
    r := CASE WHEN most.requests_per_second >= 1 THEN
                  least(greatest(floor(most.requests_per_second / sharers), 1),
                        floor(most.requests_per_second) - used.requests_per_second)
              WHEN used.requests_per_second = 0 THEN most.requests_per_second
              WHEN most.requests_per_second > 0 THEN 0 END;
    b := CASE WHEN most.bytes_per_second IS NOT NULL THEN
              least(greatest(most.bytes_per_second / sharers, 1),
                    most.bytes_per_second - used.bytes_per_second) END;
    IF c <= 0 OR r <= 0 OR b <= 0 THEN
        IF mine.place IS NULL THEN
            INSERT INTO origin_share (origin_id, worker_id, connections, ends_at)
            VALUES (of_origin, of_worker, 0, clock_timestamp() + make_interval(secs => seconds));
        ELSIF mine.connections = 0 THEN
            UPDATE origin_share SET ends_at = clock_timestamp() + make_interval(secs => seconds)
            WHERE ctid = mine.place;
        END IF;
        RETURN 0;
    END IF;
    IF mine.connections > c OR mine.requests_per_second > r OR mine.bytes_per_second > b THEN
        UPDATE origin_share SET connections = greatest(connections - c, 0),
            requests_per_second = greatest(requests_per_second - r, 0),
            bytes_per_second = greatest(bytes_per_second - b, 0)
        WHERE ctid = mine.place;
    ELSE
        DELETE FROM origin_share WHERE ctid = mine.place;
    END IF;
    INSERT INTO origin_share VALUES
        (of_origin, of_worker, c, r, b, clock_timestamp() + make_interval(secs => seconds));
    RETURN least(coalesce(16 * c, 1000), coalesce(ceil(5 * r)::int, 1000));
END $$;

-- How many more jobs of an origin that has limits, or whose breaker is not closed, a worker may claim
-- now. Locks the origin's row.
CREATE FUNCTION origin_allowance(of_origin bigint, of_worker uuid, seconds float8) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    o record;
    most int;
BEGIN
    SELECT breaker, cooldown_until INTO o FROM origin WHERE id = of_origin FOR UPDATE;
    IF o.cooldown_until > now() THEN RETURN 0; END IF;
    most := share_origin(of_origin, of_worker, seconds);
    IF most = 0 THEN RETURN 0; END IF;
    IF o.breaker IN ('open', 'halfOpen') THEN
        -- One job tries whether the origin is well again; the others wait for what becomes of it.
        UPDATE origin SET breaker = 'halfOpen',
            cooldown_until = now() + make_interval(secs => seconds)
        WHERE id = of_origin;
        INSERT INTO origin_decision (origin_id, decision, reason)
        VALUES (of_origin, 'halfOpen', 'one job tries it after its cooldown');
        RETURN 1;
    END IF;
    RETURN CASE WHEN most IS NULL THEN 1000
                ELSE greatest(most - jobs_held(of_origin, of_worker), 0) END;
END $$;

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
