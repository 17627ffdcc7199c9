-- Lanes of catalogs that ended some time ago, unless one is being started again.
WITH ended AS MATERIALIZED (
    SELECT DISTINCT c.id FROM catalog c JOIN lane l ON l.catalog_id = c.id
    WHERE c.state IN ('completed', 'failed', 'cancelled', 'interrupted')
      AND c.ended_at < now() - interval '10 minutes' LIMIT 100
), locked AS MATERIALIZED (
    SELECT id FROM ended
    WHERE pg_try_advisory_xact_lock(hashtextextended('dray.catalog.' || current_schema(), id))
)
DELETE FROM lane l USING locked WHERE l.catalog_id = locked.id AND l.ready_since IS NULL
  AND NOT EXISTS (SELECT FROM job j WHERE j.lane_id = l.id)
