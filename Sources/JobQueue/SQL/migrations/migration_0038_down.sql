-- Quotas that workers have are granted anew.
DROP TABLE quota;
DROP SEQUENCE quota_number;
DROP INDEX origin_limited;
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
CREATE TABLE site_share (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site_id bigint NOT NULL,
    worker_id uuid NOT NULL,
    bytes_per_second bigint NOT NULL CHECK (bytes_per_second >= 0),
    ends_at timestamptz NOT NULL
);
CREATE INDEX site_share_of ON site_share (site_id, worker_id);
ALTER TABLE site ADD COLUMN sharers bigint NOT NULL DEFAULT 1, ADD COLUMN sharers_counted_at timestamptz;
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
CREATE OR REPLACE FUNCTION origin_allowance(of_origin bigint, of_worker uuid, seconds float8) RETURNS int
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
CREATE FUNCTION site_jobs_held(of_site bigint, by_worker uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM lease e
        JOIN span p ON p.lease_id = e.id
        JOIN lane l ON l.id = p.lane_id
        JOIN queue q ON q.id = l.queue_id AND q.site_id = of_site
        CROSS JOIN LATERAL (
            SELECT FROM job
            WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id LIMIT 1
        ) AS j
        WHERE e.worker_id = by_worker)
$$;
CREATE FUNCTION share_site(of_site bigint, of_worker uuid, seconds float8)
RETURNS TABLE (site bigint, number bigint, part bigint, seconds_left float8)
LANGUAGE plpgsql AS $$
DECLARE
    most bigint;
    is_closed boolean;
    is_counted boolean;
    mine record;
    used bigint;
    counted bigint;
    fair bigint;
BEGIN
    SELECT t.bytes_per_second, t.closed, t.sharers,
           coalesce(t.sharers_counted_at > clock_timestamp() - interval '1 second', false)
    INTO most, is_closed, counted, is_counted FROM site t
    WHERE t.id = of_site AND (t.bytes_per_second IS NOT NULL OR t.closed)
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        DELETE FROM site_share WHERE site_id = of_site AND worker_id = of_worker;
        RETURN QUERY SELECT of_site, NULL::bigint, 0::bigint, seconds;
        RETURN;
    END IF;
    IF NOT site_jobs_held(of_site, of_worker) THEN RETURN; END IF;
    SELECT s.id, s.bytes_per_second INTO mine FROM site_share s
    WHERE s.site_id = of_site AND s.worker_id = of_worker AND s.ends_at > clock_timestamp()
    ORDER BY s.id DESC LIMIT 1;
    IF is_counted AND NOT is_closed AND mine.bytes_per_second = greatest(most / counted, 1) THEN
        RETURN QUERY
        UPDATE site_share s SET ends_at = clock_timestamp() + make_interval(secs => seconds)
        WHERE s.id = mine.id
        RETURNING s.site_id, s.id, s.bytes_per_second, seconds;
        RETURN;
    END IF;
    DELETE FROM site_share WHERE site_id = of_site AND ends_at <= clock_timestamp();
    IF is_closed THEN
        -- What is under way ends as it began.
        IF mine.id IS NULL THEN RETURN; END IF;
        most := mine.bytes_per_second;
        fair := mine.bytes_per_second;
        used := 0;
    ELSE
        -- A share that nothing is held for has ended, unless its worker may not have heard yet that
        -- what it held was cancelled.
        DELETE FROM site_share s
        WHERE NOT is_counted AND s.site_id = of_site AND s.worker_id <> of_worker
          AND NOT site_jobs_held(of_site, s.worker_id)
          AND NOT EXISTS (SELECT FROM lease e JOIN cancelled_job x ON x.lease_id = e.id
                          WHERE e.worker_id = s.worker_id);
        SELECT coalesce(sum(o.most), 0), count(*) + 1 INTO used, counted
        FROM (SELECT max(s.bytes_per_second) AS most FROM site_share s
              WHERE s.site_id = of_site AND s.worker_id <> of_worker GROUP BY s.worker_id) AS o;
        UPDATE site t SET sharers = counted,
            sharers_counted_at = CASE WHEN is_counted THEN t.sharers_counted_at
                                      ELSE clock_timestamp() END
        WHERE t.id = of_site AND (NOT is_counted OR t.sharers <> counted);
        fair := greatest(most / counted, 1);
    END IF;
    -- Less than before can be given at any time; more only as far as the others leave it.
    fair := greatest(least(fair, most - used), least(fair, coalesce(mine.bytes_per_second, 0)), 0);
    IF mine.bytes_per_second = fair THEN
        RETURN QUERY
        UPDATE site_share s SET ends_at = clock_timestamp() + make_interval(secs => seconds)
        WHERE s.id = mine.id
        RETURNING s.site_id, s.id, s.bytes_per_second, seconds;
    ELSE
        RETURN QUERY
        INSERT INTO site_share AS s (site_id, worker_id, bytes_per_second, ends_at)
        VALUES (of_site, of_worker, fair, clock_timestamp() + make_interval(secs => seconds))
        RETURNING s.site_id, s.id, s.bytes_per_second, seconds;
    END IF;
END $$;
