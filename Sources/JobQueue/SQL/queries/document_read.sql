-- $1 segment.
SELECT content FROM document WHERE segment_id = $1::bigint
