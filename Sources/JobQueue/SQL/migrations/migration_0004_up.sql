-- What of a site's bandwidth a worker has been given, until when. The row of the highest number is its
-- share; those before it count until their time is over or the worker has named a later one, because
-- until then it may not have heard of the change. One of 0 says that it waits for a share. Written
-- under the lock of the site's row.
CREATE TABLE site_share (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site_id bigint NOT NULL,
    worker_id uuid NOT NULL,
    bytes_per_second bigint NOT NULL CHECK (bytes_per_second >= 0),
    ends_at timestamptz NOT NULL
);
CREATE INDEX site_share_of ON site_share (site_id, worker_id);

-- Whether a worker holds any job of a site.
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

-- Gives a worker its share of a site's bandwidth for some seconds, or renews it: an equal part, as far
-- as the others leave it. One row, with no number where there is no bound; none where the worker
-- holds nothing of the site, or the site is closed and was not bounded.
CREATE FUNCTION share_site(of_site bigint, of_worker uuid, seconds float8)
RETURNS TABLE (site bigint, number bigint, part bigint, seconds_left float8)
LANGUAGE plpgsql AS $$
DECLARE
    most bigint;
    is_closed boolean;
    mine record;
    used bigint;
    sharers bigint;
    fair bigint;
BEGIN
    SELECT t.bytes_per_second, t.closed INTO most, is_closed FROM site t
    WHERE t.id = of_site AND (t.bytes_per_second IS NOT NULL OR t.closed)
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        DELETE FROM site_share WHERE site_id = of_site AND worker_id = of_worker;
        RETURN QUERY SELECT of_site, NULL::bigint, 0::bigint, seconds;
        RETURN;
    END IF;
    IF NOT site_jobs_held(of_site, of_worker) THEN RETURN; END IF;
    DELETE FROM site_share WHERE site_id = of_site AND ends_at <= clock_timestamp();
    SELECT s.id, s.bytes_per_second INTO mine FROM site_share s
    WHERE s.site_id = of_site AND s.worker_id = of_worker ORDER BY s.id DESC LIMIT 1;
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
        WHERE s.site_id = of_site AND s.worker_id <> of_worker
          AND NOT site_jobs_held(of_site, s.worker_id)
          AND NOT EXISTS (SELECT FROM lease e JOIN cancelled_job x ON x.lease_id = e.id
                          WHERE e.worker_id = s.worker_id);
        SELECT coalesce(sum(o.most), 0), count(*) + 1 INTO used, sharers
        FROM (SELECT max(s.bytes_per_second) AS most FROM site_share s
              WHERE s.site_id = of_site AND s.worker_id <> of_worker GROUP BY s.worker_id) AS o;
        fair := greatest(most / sharers, 1);
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
