-- Ends the quotas of workers that hold no jobs of what they are of, unless a worker may not have heard yet that
-- what it held was cancelled. One that was granted anew meanwhile has another number.
WITH idle AS MATERIALIZED (
    SELECT q.kind, q.resource_id, q.worker_id, q.number
    FROM quota q
    WHERE q.ends_at > clock_timestamp()
      AND NOT EXISTS (
          SELECT FROM lease e
          CROSS JOIN LATERAL (SELECT * FROM span WHERE lease_id = e.id OFFSET 0) AS p
          CROSS JOIN LATERAL (
              SELECT FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id LIMIT 1
          ) AS j
          JOIN lane l ON l.id = p.lane_id
          JOIN queue u ON u.id = l.queue_id
          WHERE e.worker_id = q.worker_id
            AND CASE q.kind WHEN 'origin' THEN l.origin_id ELSE u.site_id END = q.resource_id)
      AND NOT EXISTS (SELECT FROM lease e JOIN cancelled_job x ON x.lease_id = e.id
                      WHERE e.worker_id = q.worker_id)
), ended AS (
    UPDATE quota q SET ends_at = clock_timestamp()
    FROM idle i
    WHERE q.kind = i.kind AND q.resource_id = i.resource_id AND q.worker_id = i.worker_id
      AND q.number = i.number
    RETURNING q.number
)
SELECT count(*) AS ended FROM ended
