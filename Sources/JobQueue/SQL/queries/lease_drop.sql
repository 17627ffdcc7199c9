-- $1 lease. One that a claim left with nothing, because its jobs were taken away while it ran; it has
-- spans, which one that was released before it was granted has not. One that still holds a job runs out.
DELETE FROM lease WHERE id = $1::uuid AND EXISTS (SELECT FROM span WHERE lease_id = $1::uuid)
  AND NOT EXISTS (
      SELECT FROM span p CROSS JOIN LATERAL (
          SELECT FROM job
          WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id LIMIT 1
      ) AS j
      WHERE p.lease_id = $1::uuid)
