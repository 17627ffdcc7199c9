-- $1 catalog, whose lanes are locked. Of its jobs that nobody holds, those that workers died with go to where
-- jobs are tried alone. Costs a look at an index where there are none.
WITH losses AS MATERIALIZED (
    SELECT DISTINCT kind, target_id FROM job_loss WHERE catalog_id = $1::bigint AND kind <> 'sums'
), waiting AS (
    DELETE FROM job j USING lane l
    WHERE EXISTS (SELECT FROM losses) AND l.catalog_id = $1::bigint AND l.rank <> 4
      AND j.lane_id = l.id
      AND j.id > coalesce((SELECT last_id FROM span WHERE lane_id = l.id
                           ORDER BY last_id DESC LIMIT 1), 0)
      AND ((j.kind, coalesce(j.segment_id, j.asset_id)) IN (SELECT kind, target_id FROM losses)
           OR (j.kind, j.whole_id) IN (SELECT kind, target_id FROM losses)) IS TRUE
    RETURNING l.queue_id, l.origin_id, l.own_priority, j.*
)
INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id, segment_id,
                         whole_id, directory_id, kind, attempt)
SELECT queue_id, $1::bigint, origin_id, 4, own_priority, asset_id, segment_id, whole_id, directory_id,
       kind, attempt
FROM waiting ORDER BY id
