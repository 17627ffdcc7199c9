CASE WHEN s.role = 'playlist' AND s.ordinal < {{firstSidecar}}
     THEN CASE WHEN d.segment_id IS NULL THEN s.expected_sha256 ELSE d.served_sha256 END END