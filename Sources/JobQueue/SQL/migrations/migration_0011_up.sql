-- How many workers share a site's bandwidth, and when it was looked last whether they still hold work.
ALTER TABLE site ADD COLUMN sharers bigint NOT NULL DEFAULT 1, ADD COLUMN sharers_counted_at timestamptz;

-- Gives a worker its share of a site's bandwidth for some seconds, or renews it: an equal part, as far
-- as the others leave it. One row, with no number where there is no bound; none where the worker
-- holds nothing of the site, or the site is closed and was not bounded. Whoever has just his part of it
-- keeps that without a look at the others, who are counted once a second, and when somebody has not.
CREATE OR REPLACE FUNCTION share_site(of_site bigint, of_worker uuid, seconds float8)
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
