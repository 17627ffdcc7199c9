-- One kind of quota for origins and sites, which Swift divides (Model/Quota.swift).
DROP FUNCTION share_origin, share_site, site_jobs_held;
DROP TABLE origin_share, site_share;
ALTER TABLE site DROP COLUMN sharers, DROP COLUMN sharers_counted_at;

-- A worker's part of the limits of an origin or a site. A row is made when the worker is granted jobs of it, and
-- goes when the worker has no more to do there. Written under the lock of the origin's or the site's row.
CREATE TABLE quota (
    kind text NOT NULL CHECK (kind IN ('origin', 'site')),
    resource_id bigint NOT NULL,
    worker_id uuid NOT NULL,
    -- Of the last grant, and of the first one with the same amounts.
    number bigint NOT NULL,
    since bigint NOT NULL,
    -- What the worker may use; null for what has no limit.
    connections bigint CHECK (connections >= 0),
    requests bigint CHECK (requests >= 0),
    bytes bigint CHECK (bytes >= 0),
    -- The most that it may still be using, by earlier grants as well.
    held_connections bigint,
    held_requests bigint,
    held_bytes bigint,
    -- When the last grant of other amounts was made, and a lease's time more: nothing larger is used from then on,
    -- whether that was reported or not. No bound for a quota that has ended.
    held_until timestamptz NOT NULL DEFAULT 'infinity',
    -- Transfers that it last reported to be under way there; null before it did.
    active int,
    -- The worker then stops by itself. What is held counts until a second later: requests of the last second
    -- still count.
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (kind, resource_id, worker_id)
) WITH (fillfactor = 50);
CREATE INDEX quota_of_worker ON quota (worker_id);
CREATE SEQUENCE quota_number;

-- Those that have limits of their own.
CREATE INDEX origin_limited ON origin (id)
    WHERE max_connections IS NOT NULL OR requests_per_second IS NOT NULL OR bytes_per_second IS NOT NULL;

-- How many more jobs of an origin that has limits, or whose breaker is not closed, a worker may claim now. Locks
-- the origin's row. A worker without a quota of it gets an empty one with its first jobs, as long as there is a
-- connection and a request a second for each; otherwise it gets none of the origin's jobs.
CREATE OR REPLACE FUNCTION origin_allowance(of_origin bigint, of_worker uuid, seconds float8) RETURNS int
LANGUAGE plpgsql AS $$
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
    is_limited := coalesce(most.connections::float8, most.requests_per_second, most.bytes_per_second) IS NOT NULL;
    IF is_limited THEN
        max_users := least(most.connections, CASE WHEN most.requests_per_second IS NOT NULL
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
    IF o.breaker IN ('open', 'halfOpen') THEN
        -- One job tries whether the origin is well again; the others wait for what becomes of it.
        UPDATE origin SET breaker = 'halfOpen',
            cooldown_until = now() + make_interval(secs => seconds)
        WHERE id = of_origin;
        INSERT INTO origin_decision (origin_id, decision, reason)
        VALUES (of_origin, 'halfOpen', 'one job tries it after its cooldown');
        RETURN 1;
    END IF;
    IF NOT is_limited THEN RETURN 1000; END IF;
    -- Few more than are under way and can begin soon: others may do them sooner.
    RETURN greatest(least(coalesce(8 * ceil(most.connections::float8 / users)::bigint, 1000),
                          coalesce(ceil(2 * most.requests_per_second / users)::bigint + under_way, 1000), 1000)
                    - jobs_held(of_origin, of_worker), 0);
END $$;
