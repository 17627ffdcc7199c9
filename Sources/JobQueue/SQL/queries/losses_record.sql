-- Pairwise $1 lanes and $2 jobs, which are locked, $3 workers that died with them and $4 their names. Notes the
-- losses. Of each job how many workers have died with it by now, and the latest of them with their times; of a
-- part those count that died with the whole file. Whoever was heard of since has not died.
WITH lost AS MATERIALIZED (
    SELECT j.id, j.kind, coalesce(j.segment_id, j.directory_id, j.asset_id) AS target_id,
           CASE WHEN j.kind = 'fetch' THEN j.whole_id END AS whole_id, l.catalog_id,
           r.worker, r.name
    FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[]) AS r(lane, job, worker, name)
    {{jobOfEach}}
    JOIN lane l ON l.id = r.lane
), recorded AS (
    INSERT INTO job_loss (kind, target_id, worker_id, worker_name, catalog_id)
    SELECT DISTINCT ON (kind, target_id, worker) kind, target_id, worker, name, catalog_id FROM lost
    ON CONFLICT (kind, target_id, worker_id) DO UPDATE SET lost_at = now()
)
SELECT t.id, d.deaths, d.workers
FROM lost t
CROSS JOIN LATERAL (
    SELECT count(*) AS deaths,
           string_agg(coalesce(x.worker_name, x.worker_id::text) || ' at '
                      || to_char(x.lost_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'), ', '
                      ORDER BY x.lost_at) FILTER (WHERE x.place <= 4) AS workers
    FROM (
        SELECT y.*, row_number() OVER (ORDER BY y.lost_at DESC) AS place FROM (
            SELECT t.worker AS worker_id, t.name AS worker_name, now() AS lost_at
            UNION ALL
            SELECT z.worker_id, z.worker_name, z.lost_at FROM job_loss z
            WHERE z.kind = t.kind AND z.target_id IN (t.target_id, t.whole_id)
              AND z.worker_id <> t.worker
              AND NOT EXISTS (SELECT FROM worker w
                              WHERE w.id = z.worker_id AND w.last_seen > z.lost_at)
        ) AS y
    ) AS x
) AS d
