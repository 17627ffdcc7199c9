-- $1 seconds, $2 most minutes. What all workers did, by minute, newest first: the difference of what each
-- had done to what it had done before. What it did before the first row that is read is not known, unless
-- that is little: then it had just begun.
WITH row AS (
    SELECT * FROM worker_minute
    WHERE minute >= date_trunc('minute', now()) - make_interval(secs => $1::float8)
), step AS (
    SELECT minute, connections, cores,
           lag(minute) OVER w IS NOT NULL OR busy_seconds <= 120 AS is_known,
           fetches - coalesce(lag(fetches) OVER w, 0) AS fetches,
           bytes - coalesce(lag(bytes) OVER w, 0) AS bytes,
           busy_seconds - coalesce(lag(busy_seconds) OVER w, 0) AS busy_seconds,
           seconds - coalesce(lag(seconds) OVER w, 0) AS seconds,
           seconds2 - coalesce(lag(seconds2) OVER w, 0) AS seconds2,
           seconds3 - coalesce(lag(seconds3) OVER w, 0) AS seconds3,
           seconds4 - coalesce(lag(seconds4) OVER w, 0) AS seconds4,
           cpu_seconds - coalesce(lag(cpu_seconds) OVER w, 0) AS cpu_seconds
    FROM row
    WINDOW w AS (PARTITION BY worker_id ORDER BY minute)
)
SELECT extract(epoch FROM minute)::float8 AS start, count(*) AS workers,
       max(busy_seconds) AS longest, sum(connections * busy_seconds) AS slot_seconds,
       sum(fetches)::bigint AS fetches, sum(bytes)::bigint AS bytes,
       sum(busy_seconds) AS busy_seconds, sum(seconds) AS seconds, sum(seconds2) AS seconds2,
       sum(seconds3) AS seconds3, sum(seconds4) AS seconds4,
       CASE WHEN bool_and(cpu_seconds IS NOT NULL) THEN sum(cpu_seconds) END AS cpu_seconds,
       sum(connections)::bigint AS connections, sum(cores)::bigint AS cores
FROM step
WHERE is_known AND fetches > 0 AND busy_seconds > 0
GROUP BY minute ORDER BY minute DESC LIMIT $2::int
