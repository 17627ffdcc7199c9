-- Claims of jobs. Functions because one claim is many statements, which would be as many round
-- trips.

-- name: holds_jobs
-- Tells whether a worker holds jobs; or one that is to be tried alone, for a minute: a job that takes longer
-- does not keep its worker from other work.
CREATE OR REPLACE FUNCTION holds_jobs(by_worker uuid, isolated_only boolean) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM lease e
        JOIN span p ON p.lease_id = e.id
        CROSS JOIN LATERAL (
            SELECT FROM job
            WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id LIMIT 1
        ) AS j
        WHERE e.worker_id = by_worker
          AND (NOT isolated_only OR e.isolated AND e.granted_at > now() - interval '1 minute'))
$$

-- name: jobs_held
-- Jobs of an origin that a worker holds.
CREATE OR REPLACE FUNCTION jobs_held(of_origin bigint, by_worker uuid) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT count(*)
    FROM lease e
    JOIN span p ON p.lease_id = e.id
    JOIN lane l ON l.id = p.lane_id AND l.origin_id = of_origin
    {{jobsOfSpan}}
    WHERE e.worker_id = by_worker
$$

-- name: origin_allowance
-- Returns how many more jobs of an origin that has limits, or whose breaker is not closed, a worker may claim
-- now. Locks the origin's row. A worker without a quota of it gets an empty one with its first jobs, as long
-- as there is a connection and a request a second for each; otherwise it gets none of the origin's jobs.
CREATE OR REPLACE FUNCTION origin_allowance(of_origin bigint, of_worker uuid, seconds float8)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    o record;
    most record;
    max_users bigint;
    users bigint;
    is_user boolean;
    under_way bigint;
    is_limited boolean;
BEGIN
    SELECT breaker, cooldown_until INTO o FROM origin WHERE id = of_origin FOR UPDATE;
    IF o.cooldown_until > now() THEN RETURN 0; END IF;
    SELECT * INTO most FROM origin_limit WHERE id = of_origin;
    is_limited := coalesce(most.connections::float8, most.requests_per_second,
                           most.bytes_per_second) IS NOT NULL;
    IF is_limited THEN
        max_users := least(most.connections,
                           CASE WHEN most.requests_per_second IS NOT NULL
                                THEN greatest(floor(most.requests_per_second), 1) END);
        SELECT count(*), coalesce(bool_or(worker_id = of_worker), false),
               coalesce(sum(active) FILTER (WHERE worker_id = of_worker), 0)
        INTO users, is_user, under_way FROM quota
        WHERE kind = 'origin' AND resource_id = of_origin AND ends_at > clock_timestamp();
        IF NOT is_user THEN
            IF users >= max_users THEN RETURN 0; END IF;
            INSERT INTO quota AS q (kind, resource_id, worker_id, number, since, ends_at,
                                    connections, requests, bytes, held_connections, held_requests, held_bytes)
            SELECT 'origin', of_origin, of_worker, n, n, clock_timestamp() + make_interval(secs => seconds),
                   0, 0, 0, 0, 0, 0
            FROM nextval('quota_number') AS n
            -- One that has ended still counts for a moment with what it held.
            ON CONFLICT (kind, resource_id, worker_id) DO UPDATE
            SET number = excluded.number, since = excluded.since, ends_at = excluded.ends_at,
                connections = 0, requests = 0, bytes = 0, active = 0;
            users := users + 1;
        END IF;
    END IF;
    IF o.breaker IN ({{breakerOpen}}) THEN
        -- One job tries whether the origin is well again; the others wait for what becomes of it.
        UPDATE origin SET breaker = 'halfOpen',
            cooldown_until = now() + make_interval(secs => seconds)
        WHERE id = of_origin;
        INSERT INTO origin_decision (origin_id, decision) VALUES (of_origin, 'halfOpen');
        RETURN 1;
    END IF;
    IF NOT is_limited THEN RETURN 1000; END IF;
    -- Few more than are under way and can begin soon: others may do them sooner, also those that
    -- are idle and hold no quota yet.
    users := least(users + (SELECT count(*) FROM (
        SELECT FROM worker w
        WHERE w.idle_connections > 0 AND w.id <> of_worker AND w.issue_code IS NULL
          AND w.last_seen > now() - interval '40 seconds'
          AND EXISTS (SELECT FROM lane l JOIN queue u ON u.id = l.queue_id
                      WHERE l.origin_id = of_origin AND l.ready_since IS NOT NULL
                        AND (w.queues IS NULL OR u.name = ANY (w.queues))
                        AND u.site_id <> ALL (w.refused_sites))
          AND NOT EXISTS (SELECT FROM quota q WHERE q.kind = 'origin' AND q.resource_id = of_origin
                          AND q.worker_id = w.id AND q.ends_at > clock_timestamp())
        LIMIT coalesce(max_users, 100)) AS idle), coalesce(max_users, 1000));
    RETURN greatest(least(coalesce(8 * ceil(most.connections::float8 / users)::bigint, 1000),
                          coalesce(ceil(2 * most.requests_per_second / users)::bigint + under_way, 1000), 1000)
                    - jobs_held(of_origin, of_worker), 0);
END $$

-- name: claim_isolated
-- Grants one isolated job to a lease, of lanes that no other claim has locked. Answers whether
-- there was one, and whether an origin's row is locked now.
CREATE OR REPLACE FUNCTION claim_isolated(of_queue bigint, to_lease uuid, of_worker uuid, seconds float8,
                               OUT is_granted boolean, OUT is_guarded boolean)
LANGUAGE plpgsql AS $$
DECLARE
    l record;
BEGIN
    is_granted := false;
    is_guarded := false;
    FOR l IN SELECT * FROM isolated_lanes(of_queue) LOOP
        PERFORM FROM lane WHERE id = l.lane_id FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        IF l.is_guarded THEN
            is_guarded := true;
            CONTINUE WHEN origin_allowance(l.origin_id, of_worker, seconds) = 0;
        END IF;
        INSERT INTO span (lane_id, first_id, last_id, lease_id, jobs)
        SELECT l.lane_id, id, id, to_lease, 1 FROM job
        WHERE lane_id = l.lane_id AND id > coalesce(
            (SELECT last_id FROM span WHERE lane_id = l.lane_id ORDER BY last_id DESC LIMIT 1), 0)
        ORDER BY id LIMIT 1;
        is_granted := FOUND;
        EXIT WHEN is_granted;
        UPDATE lane SET ready_since = NULL WHERE id = l.lane_id;
    END LOOP;
    IF is_granted THEN UPDATE lease SET isolated = true WHERE id = to_lease; END IF;
END $$

-- name: claim_jobs
-- Claims jobs of a queue for some workers at once: pairwise a new lease, its worker and the maximum
-- of jobs.
--
-- Catalogs of one level share the jobs of a lease; the next level gets the rest. A lane that
-- another claim has locked is skipped; only a claim for one lease waits for it, when nothing else
-- is found. A lease that exists already, because it was released before it was granted, gets
-- nothing. The slow origins of a lease's worker come pairwise with the index of the lease and the
-- maximum of jobs that it gets of them.
--
-- While isolated jobs wait, about every fourth minute of each worker is for them: it gets nothing
-- else then. A worker that got none has to ask again soon: the end of another job, its own too, may
-- let it try one, and nothing notifies of that.
--
-- is_known: the queue exists. is_guarded: an origin with limits was among the lanes.
-- is_worth_another: a lease got nothing because lanes were locked or an origin has limits. granted:
-- leases that got jobs. alone: indexes of those that hold an isolated job. is_isolating: isolated
-- jobs wait.
CREATE OR REPLACE FUNCTION claim_jobs(of_queue bigint, to_leases uuid[], of_workers uuid[], mosts int[],
                           seconds float8, slow_places int[] DEFAULT '{}',
                           slow_names text[] DEFAULT '{}', slow_mosts int[] DEFAULT '{}',
                           OUT is_known boolean, OUT is_guarded boolean,
                           OUT is_worth_another boolean, OUT granted int,
                           OUT alone bigint[], OUT is_isolating boolean)
LANGUAGE plpgsql {{plannedByIndex}} AS $$
DECLARE
    lanes bigint[];
    catalogs bigint[];
    lefts int[];
    ranks smallint[];
    origins bigint[];
    guarded boolean[];
    most int;
    remaining int;
    quota int;
    want int;
    got int;
    allowance int;
    passed_over boolean;
    is_open boolean[];
    levels int[];
    -- First lane, and number of lanes, of the same catalog, rank and level as lane i.
    firsts int[];
    counts int[];
    i int;
    is_active boolean;
    -- Nothing may be fetched, but files may be deleted.
    is_closed boolean;
    is_due boolean;
    is_ready boolean;
    setting text;
    is_ours boolean;
    holds_guarded boolean;
    has_waited boolean;
    -- Some worker tries a job alone.
    is_alone boolean;
    is_idle boolean := false;
    is_turn boolean := false;
    trial record;
    got_isolated boolean;
    -- Slow origins of the lease, and how many jobs of them it may still get.
    slow bigint[];
    slow_left int;
BEGIN
    is_guarded := false;
    is_worth_another := false;
    granted := 0;
    alone := '{}';
    -- A claim costs mostly its statements: one looks at all that may end it early.
    SELECT q.state <> 'paused' AND (NOT t.closed OR {{mayDelete}}), t.closed,
           EXISTS (SELECT FROM delayed_job WHERE queue_id = of_queue AND available_at <= now()),
           EXISTS (SELECT FROM lane WHERE queue_id = of_queue AND ready_since IS NOT NULL),
           EXISTS (SELECT FROM lane
                   WHERE queue_id = of_queue AND rank = 4 AND ready_since IS NOT NULL),
           EXISTS (SELECT FROM lease WHERE isolated)
    INTO is_active, is_closed, is_due, is_ready, is_isolating, is_alone
    FROM queue q JOIN site t ON t.id = q.site_id WHERE q.id = of_queue;
    is_known := FOUND;
    IF is_active IS NOT TRUE OR NOT (is_due OR is_ready) THEN RETURN; END IF;
    -- A claim that a crash of the server takes back is a lease that was lost: nothing to wait for the
    -- disk for.
    setting := set_config('synchronous_commit', 'off', true);
    IF is_due THEN
        -- Their lanes may be those of a catalog that is being started: then another time.
        BEGIN
            setting := set_config('lock_timeout', '500ms', true);
            PERFORM promote_jobs(of_queue);
            setting := set_config('lock_timeout', '0', true);
        EXCEPTION WHEN lock_not_available THEN
            NULL;
        END;
        is_isolating := EXISTS (SELECT FROM lane
                                WHERE queue_id = of_queue AND rank = 4 AND ready_since IS NOT NULL);
    END IF;
    is_isolating := is_isolating AND NOT is_closed AND EXISTS (SELECT FROM isolated_lanes(of_queue));
    -- One order for all: what these claims themselves change of it is in `is_open`.
    SELECT array_agg(o.lane_id), array_agg(o.catalog_id), array_agg(o.catalogs_left),
           array_agg(o.rank), array_agg(o.origin_id), array_agg(o.is_guarded), array_agg(o.level), array_agg(true)
    INTO lanes, catalogs, lefts, ranks, origins, guarded, levels, is_open
    FROM claim_order(of_queue) AS o WHERE NOT is_closed OR o.rank = -1;
    IF lanes IS NULL THEN
        IF NOT is_isolating THEN RETURN; END IF;
        SELECT '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'
        INTO lanes, catalogs, lefts, ranks, origins, guarded, levels, is_open;
    END IF;
    is_guarded := true = ANY(guarded);
    firsts := ARRAY[1];
    FOR i IN 2..cardinality(lanes) LOOP
        firsts[i] := CASE WHEN (catalogs[i], ranks[i], levels[i])
                               = (catalogs[i - 1], ranks[i - 1], levels[i - 1])
                          THEN firsts[i - 1] ELSE i END;
    END LOOP;
    FOR i IN REVERSE cardinality(lanes)..1 LOOP
        counts[i] := CASE WHEN i < cardinality(lanes) AND firsts[i + 1] = firsts[i]
                          THEN counts[i + 1] ELSE i - firsts[i] + 1 END;
    END LOOP;
    FOR n IN 1..cardinality(to_leases) LOOP
        EXIT WHEN NOT is_isolating AND NOT true = ANY(is_open);
        CONTINUE WHEN is_alone AND holds_jobs(of_workers[n], true);
        IF is_isolating THEN
            is_idle := NOT holds_jobs(of_workers[n], false);
            is_turn := hashtextextended(
                of_workers[n]::text, floor(extract(epoch FROM now()) / 60)::bigint) & 3 = 0;
            CONTINUE WHEN is_turn AND NOT is_idle;
        END IF;
        INSERT INTO lease (id, worker_id, expires_at)
        VALUES (to_leases[n], of_workers[n], now() + make_interval(secs => seconds))
        ON CONFLICT DO NOTHING;
        CONTINUE WHEN NOT FOUND;
        most := mosts[n];
        remaining := most;
        passed_over := false;
        holds_guarded := false;
        has_waited := false;
        got_isolated := false;
        slow := NULL;
        IF cardinality(slow_names) > 0 THEN
            SELECT array_agg(o.id) INTO slow
            FROM unnest(slow_places, slow_names) AS u (place, name)
            JOIN origin o ON o.url = u.name
            WHERE u.place = n;
            slow_left := slow_mosts[n];
        END IF;
        IF is_isolating AND is_turn THEN
            SELECT * INTO trial
            FROM claim_isolated(of_queue, to_leases[n], of_workers[n], seconds);
            got_isolated := trial.is_granted;
            is_guarded := is_guarded OR trial.is_guarded;
        END IF;
        -- First a fair share each, then whatever is left, last of all what another claim is busy
        -- with.
        FOR pass IN 1..3 LOOP
            EXIT WHEN remaining = 0 OR got_isolated;
            EXIT WHEN pass = 3
                -- A claim that holds an origin's lock never waits: another may wait for that lock.
                AND (remaining < most OR NOT passed_over OR holds_guarded
                     OR cardinality(to_leases) > 1);
            quota := remaining;
            FOR place IN 1..cardinality(lanes) LOOP
                EXIT WHEN remaining = 0 OR (pass = 3 AND (remaining < most OR has_waited));
                IF pass = 1 AND (place = 1 OR catalogs[place] <> catalogs[place - 1]) THEN
                    quota := ceil(remaining::float8 / lefts[place]);
                END IF;
                -- Each lease begins at another one of lanes that are equal.
                i := firsts[place] + (place - firsts[place] + n - 1) % counts[place];
                want := least(quota, remaining);
                -- A manifest becomes many jobs: a tenth of what is claimed, unless there is nothing
                -- else.
                IF pass = 1 AND ranks[i] = 2 THEN
                    want := least(want, greatest(most / 10, 1));
                END IF;
                IF slow IS NOT NULL AND origins[i] = ANY (slow) THEN
                    want := least(want, slow_left);
                END IF;
                CONTINUE WHEN want = 0 OR NOT is_open[i];
                IF pass < 3 THEN
                    PERFORM FROM lane WHERE id = lanes[i] FOR UPDATE SKIP LOCKED;
                    is_ours := FOUND;
                ELSE
                    -- Another claim is done in no time. A catalog that is being started is not, and
                    -- says so when it is.
                    has_waited := true;
                    BEGIN
                        setting := set_config('lock_timeout', '500ms', true);
                        PERFORM FROM lane WHERE id = lanes[i] FOR UPDATE;
                        is_ours := FOUND;
                        setting := set_config('lock_timeout', '0', true);
                    EXCEPTION WHEN lock_not_available THEN
                        is_ours := false;
                    END;
                END IF;
                IF NOT is_ours THEN
                    passed_over := true;
                    CONTINUE;
                END IF;
                IF guarded[i] THEN
                    holds_guarded := true;
                    allowance := origin_allowance(origins[i], of_workers[n], seconds);
                    is_open[i] := allowance > want;
                    want := least(want, allowance);
                    CONTINUE WHEN want = 0;
                END IF;
                -- By a statement after the one that locks, which sees what was claimed before. Jobs
                -- behind the last span are free; the span takes some of them all at once.
                INSERT INTO span (lane_id, first_id, last_id, lease_id, jobs)
                SELECT lanes[i], min(j.id), max(j.id), to_leases[n], count(*)
                FROM (SELECT id FROM job
                      WHERE lane_id = lanes[i] AND id > coalesce(
                          (SELECT last_id FROM span WHERE lane_id = lanes[i]
                           ORDER BY last_id DESC LIMIT 1), 0)
                      ORDER BY id LIMIT want) AS j
                HAVING count(*) > 0
                RETURNING jobs INTO got;
                got := coalesce(got, 0);
                IF got < want THEN
                    UPDATE lane SET ready_since = NULL WHERE id = lanes[i];
                END IF;
                is_open[i] := is_open[i] AND got = want;
                remaining := remaining - got;
                IF slow IS NOT NULL AND origins[i] = ANY (slow) THEN
                    slow_left := slow_left - got;
                END IF;
                IF pass = 1 THEN quota := quota - got; ELSE quota := remaining; END IF;
            END LOOP;
        END LOOP;
        IF is_isolating AND is_idle AND NOT is_turn AND remaining = most THEN
            SELECT * INTO trial
            FROM claim_isolated(of_queue, to_leases[n], of_workers[n], seconds);
            got_isolated := trial.is_granted;
            is_guarded := is_guarded OR trial.is_guarded;
        END IF;
        IF got_isolated THEN
            alone := alone || n::bigint;
            granted := granted + 1;
        ELSIF remaining = most THEN
            DELETE FROM lease WHERE id = to_leases[n];
            is_worth_another := is_worth_another OR passed_over;
        ELSE
            granted := granted + 1;
        END IF;
        -- Claims that lock origins' rows lock those of one lease, so that they do not wait for each other
        -- in a circle.
        IF is_guarded AND n < cardinality(to_leases) THEN
            is_worth_another := true;
            EXIT;
        END IF;
    END LOOP;
END $$
