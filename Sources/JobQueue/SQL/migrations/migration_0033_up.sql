-- Workers name origins that they find slow, so that jobs of these do not fill what they hold.
DROP FUNCTION claim_jobs;
-- Claims jobs of a queue for some workers at once: pairwise a new lease, its worker and the most jobs.
-- Catalogs of one level share what a lease claims; what they leave goes to the next level. A lane
-- that another claim has locked is passed over; only a claim for one lease waits for it, when nothing
-- else is found. A lease that exists already, because it was released before it was granted, gets
-- nothing. Answers whether there is such a queue, whether lanes were looked at whose origin has limits,
-- whether a lease got nothing while lanes were passed over or because an origin has limits, and how
-- many leases got something; then the places of the leases that hold a job that is to be tried alone. While such jobs wait,
-- every fourth minute or so of each worker is for them: it gets nothing else then. Of origins that a lease's worker
-- finds slow, which are named pairwise with the places of the leases, it gets so many jobs at most.
CREATE FUNCTION claim_jobs(of_queue bigint, to_leases uuid[], of_workers uuid[], mosts int[],
                           seconds float8, slow_places int[] DEFAULT '{}',
                           slow_names text[] DEFAULT '{}', slow_mosts int[] DEFAULT '{}',
                           OUT is_known boolean, OUT is_guarded boolean,
                           OUT is_worth_another boolean, OUT granted int,
                           OUT alone bigint[])
LANGUAGE plpgsql AS $$
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
    -- Where the lanes of the same catalog, rank and level begin that lane i is among, and how many
    -- they are.
    firsts int[];
    counts int[];
    i int;
    is_active boolean;
    is_due boolean;
    is_ready boolean;
    setting text;
    is_ours boolean;
    holds_guarded boolean;
    has_waited boolean;
    -- Jobs wait to be tried alone; some worker tries one.
    is_isolating boolean;
    is_alone boolean;
    is_idle boolean := false;
    is_turn boolean := false;
    trial record;
    got_isolated boolean;
    -- Of the lease: its slow origins, and how many jobs of them it may still get.
    slow bigint[];
    slow_left int;
BEGIN
    is_guarded := false;
    is_worth_another := false;
    granted := 0;
    alone := '{}';
    -- What a claim costs is mostly its statements: one looks at all that may end it early.
    SELECT q.state <> 'paused' AND NOT t.closed,
           EXISTS (SELECT FROM delayed_job WHERE queue_id = of_queue AND available_at <= now()),
           EXISTS (SELECT FROM lane WHERE queue_id = of_queue AND ready_since IS NOT NULL),
           EXISTS (SELECT FROM lane
                   WHERE queue_id = of_queue AND rank = 4 AND ready_since IS NOT NULL),
           EXISTS (SELECT FROM lease WHERE isolated)
    INTO is_active, is_due, is_ready, is_isolating, is_alone
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
    is_isolating := is_isolating AND EXISTS (SELECT FROM isolated_lanes(of_queue));
    -- One order for all: what these claims themselves change of it is in `is_open`.
    SELECT array_agg(o.lane_id), array_agg(o.catalog_id), array_agg(o.catalogs_left),
           array_agg(o.rank), array_agg(o.origin_id), array_agg(o.is_guarded), array_agg(o.level), array_agg(true)
    INTO lanes, catalogs, lefts, ranks, origins, guarded, levels, is_open
    FROM claim_order(of_queue) AS o;
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
            CROSS JOIN LATERAL (SELECT id FROM origin WHERE url = u.name OFFSET 0) AS o
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
                -- Nobody waits who has locked an origin: somebody else's wait may be for that.
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
END $$;
