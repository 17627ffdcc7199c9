-- Claims for several workers at once: what a claim costs besides its jobs is shared among them, and
-- what the jobs need is read by a statement of its own.
DROP FUNCTION claim_jobs;

-- How often the catalog was started. Before the second time nothing of it was stored, and jobs need not
-- look for it.
ALTER TABLE catalog ADD COLUMN starts int NOT NULL DEFAULT 2;
ALTER TABLE catalog ALTER COLUMN starts SET DEFAULT 0;

-- Claims jobs of a queue for some workers at once: pairwise a new lease, its worker and the most jobs.
-- Catalogs of one level share what a lease claims; what they leave goes to the next level. A lane
-- that another claim has locked is passed over; only a claim for one lease waits for it, when nothing
-- else is found. A lease that exists already, because it was released before it was granted, gets
-- nothing. Answers whether there is such a queue, whether lanes were looked at whose origin has limits, and whether a lease got
-- nothing while lanes were passed over or because an origin has limits, and how many leases got
-- something.
CREATE FUNCTION claim_jobs(of_queue bigint, to_leases uuid[], of_workers uuid[], mosts int[],
                           seconds float8, OUT is_known boolean, OUT is_guarded boolean,
                           OUT is_worth_another boolean, OUT granted int)
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
    is_active boolean;
BEGIN
    is_guarded := false;
    is_worth_another := false;
    granted := 0;
    SELECT q.state <> 'paused' AND NOT t.closed INTO is_active
    FROM queue q JOIN site t ON t.id = q.site_id WHERE q.id = of_queue;
    is_known := FOUND;
    IF is_active IS NOT TRUE THEN RETURN; END IF;
    -- A claim that a crash of the server takes back is a lease that was lost: nothing to wait for the
    -- disk for.
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM promote_jobs(of_queue);
    IF NOT EXISTS (SELECT FROM lane WHERE queue_id = of_queue AND ready_since IS NOT NULL) THEN
        RETURN;
    END IF;
    FOR n IN 1..cardinality(to_leases) LOOP
        SELECT array_agg(o.lane_id), array_agg(o.catalog_id), array_agg(o.catalogs_left),
               array_agg(o.rank), array_agg(o.origin_id), array_agg(o.is_guarded), array_agg(true)
        INTO lanes, catalogs, lefts, ranks, origins, guarded, is_open
        FROM claim_order(of_queue) AS o;
        EXIT WHEN lanes IS NULL;
        INSERT INTO lease (id, worker_id, expires_at)
        VALUES (to_leases[n], of_workers[n], now() + make_interval(secs => seconds))
        ON CONFLICT DO NOTHING;
        CONTINUE WHEN NOT FOUND;
        is_guarded := is_guarded OR true = ANY(guarded);
        most := mosts[n];
        remaining := most;
        passed_over := false;
        -- First a fair share each, then whatever is left, last of all what another claim is busy
        -- with.
        FOR pass IN 1..3 LOOP
            EXIT WHEN remaining = 0;
            EXIT WHEN pass = 3
                AND (remaining < most OR NOT passed_over OR cardinality(to_leases) > 1);
            quota := remaining;
            FOR i IN 1..cardinality(lanes) LOOP
                EXIT WHEN remaining = 0 OR (pass = 3 AND remaining < most);
                IF pass = 1 AND (i = 1 OR catalogs[i] <> catalogs[i - 1]) THEN
                    quota := ceil(remaining::float8 / lefts[i]);
                END IF;
                want := least(quota, remaining);
                -- A manifest becomes many jobs: a tenth of what is claimed, unless there is nothing
                -- else.
                IF pass = 1 AND ranks[i] = 2 THEN
                    want := least(want, greatest(most / 10, 1));
                END IF;
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
                    allowance := origin_allowance(origins[i], of_workers[n], seconds);
                    is_open[i] := allowance > want;
                    want := least(want, allowance);
                    CONTINUE WHEN want = 0;
                END IF;
                got := claim_lane(lanes[i], to_leases[n], want);
                is_open[i] := is_open[i] AND got = want;
                remaining := remaining - got;
                IF pass = 1 THEN quota := quota - got; ELSE quota := remaining; END IF;
            END LOOP;
        END LOOP;
        IF remaining = most THEN
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
