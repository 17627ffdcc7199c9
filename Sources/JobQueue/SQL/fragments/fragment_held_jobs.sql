SELECT h.id, h.kind, h.attempt + 1 AS attempt, h.asset_id, h.segment_id, h.lane_id,
       CASE WHEN h.kind = 'fetch' THEN h.whole_id END AS parent_id, s.range_length,
       y.attempt AS whole_attempt, h.kind = 'fetch' AND s.id IS NULL AS is_unseen,
       o.breaker = 'failing' AS is_given_up,
       h.whole_id IS NULL AND coalesce(s.origin_id <> l.origin_id, false) AS is_at_mirrors,
       h.kind = 'resolve' AND (SELECT renewing_since FROM asset WHERE id = h.asset_id) IS NOT NULL AS is_renewal
FROM held h
JOIN lane l ON l.id = h.lane_id
JOIN origin o ON o.id = l.origin_id
LEFT JOIN segment s ON s.id = h.segment_id AND h.kind = 'fetch'
LEFT JOIN assembly y ON y.segment_id = h.whole_id
WHERE (SELECT count(*) FROM locked) >= 0
