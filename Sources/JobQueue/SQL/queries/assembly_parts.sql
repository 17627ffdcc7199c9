-- $1 assemblies. Their parts as they were recorded, in order.
SELECT y.id AS assembly, s.range_offset, s.range_length, r.sha256
FROM assembly y
JOIN segment s ON s.parent_id = y.segment_id
JOIN result r ON r.segment_id = s.id AND r.done
WHERE y.id = ANY($1::uuid[])
ORDER BY y.id, s.part
