-- $1 jobs, $2 seconds to wait, $3 attempts to give back. Jobs that failed and are tried again.
WITH retried AS (
    UPDATE job j SET lease_id = NULL, attempt = greatest(j.attempt - r.refund, 0),
        available_at = now() + make_interval(secs => r.seconds)
    FROM unnest($1::bigint[], $2::float8[], $3::int[]) AS r(job, seconds, refund)
    WHERE j.id = r.job
    RETURNING j.asset_id, j.catalog_id
), assets AS (
    UPDATE asset a SET retries = a.retries + t.n
    FROM (SELECT asset_id, count(*) AS n FROM retried GROUP BY asset_id) AS t
    WHERE a.id = t.asset_id
)
UPDATE catalog c SET retries = c.retries + t.n
FROM (SELECT catalog_id, count(*) AS n FROM retried GROUP BY catalog_id) AS t
WHERE c.id = t.catalog_id
