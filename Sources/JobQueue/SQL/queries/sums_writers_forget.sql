-- Turns whose lease is over and that nobody has taken over. Who takes one over meanwhile makes it young.
DELETE FROM sums_writer w WHERE w.begun_at < now() - interval '1 hour'
  AND NOT EXISTS (SELECT FROM lease l WHERE l.id = w.lease_id)
