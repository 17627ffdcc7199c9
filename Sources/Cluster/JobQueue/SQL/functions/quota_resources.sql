-- Which limits concern a worker.

-- name: quota_resources
-- The resources whose quotas concern a worker: those with limits that it holds jobs of, those that
-- it has a quota of, and those whose quotas it reports.
CREATE OR REPLACE FUNCTION quota_resources(of_worker uuid, origins text[], sites bigint[])
RETURNS TABLE (kind text, id bigint, is_held boolean)
LANGUAGE plpgsql STABLE {{plannedByIndex}} AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH busy AS MATERIALIZED (
        SELECT DISTINCT l.origin_id, q.site_id
        FROM lease e
        JOIN span p ON p.lease_id = e.id
        CROSS JOIN LATERAL (
            SELECT FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id LIMIT 1
        ) AS j
        JOIN lane l ON l.id = p.lane_id
        JOIN queue q ON q.id = l.queue_id
        WHERE e.worker_id = of_worker
    ), concerned AS (
        SELECT 'origin' AS kind, m.id, true AS is_held
        FROM (SELECT DISTINCT origin_id FROM busy) AS b JOIN origin_limit m ON m.id = b.origin_id
        WHERE coalesce(m.connections::float8, m.requests_per_second, m.bytes_per_second) IS NOT NULL
        UNION ALL
        SELECT 'site', t.id, true
        FROM (SELECT DISTINCT site_id FROM busy) AS b JOIN site t ON t.id = b.site_id
        WHERE t.bytes_per_second IS NOT NULL OR t.closed
        UNION ALL
        SELECT kind, resource_id, false FROM quota WHERE worker_id = of_worker
        UNION ALL
        SELECT 'origin', id, false FROM origin WHERE url = ANY(origins)
        UNION ALL
        SELECT 'site', id, false FROM site WHERE id = ANY(sites)
    )
    SELECT kind, id, bool_or(is_held) AS is_held FROM concerned GROUP BY kind, id;
END
$$
