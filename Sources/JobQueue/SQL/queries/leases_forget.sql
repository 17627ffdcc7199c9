-- Leases that hold nothing any more; a young one may still be getting its jobs.
DELETE FROM lease l WHERE l.granted_at < now() - interval '10 seconds'
  AND NOT EXISTS (SELECT FROM job j WHERE j.lease_id = l.id)
