-- Leases that hold nothing any more; a young one may still be getting its jobs, one whose jobs were
-- cancelled says so until its worker has let go of it, and one that was released unseen keeps its name
-- from being granted while that may still be asked for.
DELETE FROM lease l WHERE l.granted_at < now() - interval '10 seconds'
  AND (l.expires_at < now() OR EXISTS (SELECT FROM span WHERE lease_id = l.id))
  AND NOT EXISTS (
      SELECT FROM span p CROSS JOIN LATERAL (
          SELECT FROM job
          WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id LIMIT 1
      ) AS j
      WHERE p.lease_id = l.id)
  AND NOT EXISTS (SELECT FROM cancelled_job x WHERE x.lease_id = l.id)
