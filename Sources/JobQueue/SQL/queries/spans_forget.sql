-- Spans whose lease is over, but for the last of each lane, which says where the next claim begins.
DELETE FROM span p WHERE NOT EXISTS (SELECT FROM lease l WHERE l.id = p.lease_id)
  AND (EXISTS (SELECT FROM span n WHERE n.lane_id = p.lane_id AND n.last_id > p.last_id)
       OR NOT EXISTS (SELECT FROM lane l WHERE l.id = p.lane_id))
