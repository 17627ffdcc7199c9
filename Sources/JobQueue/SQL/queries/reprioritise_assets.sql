-- $1 catalog, whose lanes are locked, $2 assets, $3 priority. What waits moves to lanes of that
-- priority; what workers hold stays where it is.
WITH chosen AS MATERIALIZED (
    SELECT DISTINCT id FROM unnest($2::bigint[]) AS u(id)
), assets AS (
    UPDATE asset a SET priority = $3::smallint FROM chosen c
    WHERE a.id = c.id AND a.priority IS DISTINCT FROM $3::smallint RETURNING a.id
), places AS MATERIALIZED (
    SELECT l.*, coalesce((SELECT last_id FROM span WHERE lane_id = l.id
                          ORDER BY last_id DESC LIMIT 1), 0) AS last_id
    FROM lane l WHERE l.catalog_id = $1 AND l.own_priority <> $3::smallint
), waiting AS (
    -- No join with the assets: with statistics of a queue that was empty it looks through all for each job.
    DELETE FROM job j USING places p
    WHERE j.lane_id = p.id AND j.id > p.last_id AND (j.asset_id IN (SELECT id FROM chosen)) IS TRUE
    RETURNING p.queue_id, p.origin_id, p.rank, j.id, j.asset_id, j.segment_id, j.whole_id,
              j.directory_id, j.kind, j.attempt
), moved AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             segment_id, whole_id, directory_id, kind, attempt)
    SELECT queue_id, $1, origin_id, rank, $3::smallint, asset_id, segment_id, whole_id,
           directory_id, kind, attempt
    FROM waiting ORDER BY id RETURNING 1
), delayed AS (
    UPDATE delayed_job SET own_priority = $3::smallint
    WHERE catalog_id = $1 AND (asset_id IN (SELECT id FROM chosen)) IS TRUE
      AND own_priority <> $3::smallint
    RETURNING 1
)
SELECT (SELECT count(*) FROM assets) AS assets,
       (SELECT count(*) FROM moved) + (SELECT count(*) FROM delayed) AS jobs
