-- $1 lease, $2 worker, $3 jobs in the order of their numbers. Those of the jobs that the lease of this worker holds, and
-- whether the part of their directory's SHA256SUMS that is theirs is written already, or this worker's turn begins: it
-- then lists what every catalog has in the directory up to now.
WITH held AS MATERIALIZED (
    SELECT r.job, p.lane_id
    FROM (SELECT FROM lease WHERE id = $1::uuid AND worker_id = $2::uuid OFFSET 0) AS l
    CROSS JOIN LATERAL (SELECT * FROM span WHERE lease_id = $1::uuid OFFSET 0) AS p
    JOIN unnest($3::bigint[]) AS r(job) ON r.job BETWEEN p.first_id AND p.last_id
), mine AS MATERIALIZED (
    SELECT h.job, h.lane_id, d.id, d.site_id, d.path, d.sums IS NOT DISTINCT FROM 'written' AS is_written
    FROM held h
    CROSS JOIN LATERAL (
        SELECT directory_id FROM job WHERE lane_id = h.lane_id AND id = h.job AND kind = 'sums' OFFSET 0
    ) AS j
    JOIN directory d ON d.id = j.directory_id
), begun AS (
    INSERT INTO sums_writer (site_id, path, lane_id, job_id, lease_id)
    SELECT site_id, path, lane_id, job, $1::uuid FROM mine WHERE NOT is_written ORDER BY site_id, path
    ON CONFLICT (site_id, path) DO NOTHING
    RETURNING job_id, site_id, path
), read AS (
    UPDATE directory d SET sums = 'read' FROM begun b
    WHERE d.site_id = b.site_id AND d.path = b.path AND d.sums = 'due'
)
SELECT m.job, m.is_written, b.job_id IS NOT NULL AS begins
FROM mine m LEFT JOIN begun b ON b.job_id = m.job
