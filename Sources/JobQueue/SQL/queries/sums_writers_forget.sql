-- Turns whose lease is over and that nobody has taken over.
DELETE FROM sums_writer w WHERE NOT EXISTS (SELECT FROM lease l WHERE l.id = w.lease_id)
