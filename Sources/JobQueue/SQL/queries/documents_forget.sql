-- Those whose segments are gone.
DELETE FROM document d WHERE NOT EXISTS (SELECT FROM segment s WHERE s.id = d.segment_id)
