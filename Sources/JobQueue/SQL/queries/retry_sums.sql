-- $1 catalog, some of whose lists of digests could not be written. Which is not known: every directory
-- that nothing is under way in gets its list written anew, and the catalog runs until then.
WITH lacking AS MATERIALIZED (
    SELECT d.id FROM directory d
    WHERE d.catalog_id = $1::bigint AND d.unsettled = 0
      AND EXISTS (SELECT FROM asset a JOIN catalog c ON c.id = a.catalog_id
                  WHERE a.directory_id = d.id AND a.generation = c.generation)
      AND NOT EXISTS (SELECT FROM delayed_job j
                      WHERE j.catalog_id = d.catalog_id AND j.directory_id = d.id)
      AND NOT EXISTS (SELECT FROM lane l JOIN job j ON j.lane_id = l.id
                      WHERE l.catalog_id = d.catalog_id AND l.rank IN (0, 1, 4) AND j.directory_id = d.id)
), made AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             directory_id, kind)
    SELECT c.queue_id, c.id, 0,
           CASE WHEN EXISTS (SELECT FROM job_loss x WHERE x.kind = 'sums' AND x.target_id = d.id)
                THEN 4 ELSE 0 END,
           -1, 0, d.id, 'sums'
    FROM lacking d JOIN catalog c ON c.id = $1::bigint RETURNING 1
), due AS (
    UPDATE directory d SET sums = 'due' FROM lacking WHERE d.id = lacking.id
), n AS (
    SELECT count(*) AS jobs FROM made
), counted AS (
    UPDATE catalog SET state = 'running', ended_at = NULL,
        sums_outstanding = sums_outstanding + n.jobs
    FROM n WHERE id = $1::bigint AND n.jobs > 0
)
SELECT jobs FROM n
