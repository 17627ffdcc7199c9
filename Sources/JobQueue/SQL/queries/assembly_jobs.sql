-- $1 segment of a whole file. Its jobs and those of its parts go.
DELETE FROM job WHERE segment_id = $1::bigint
    OR segment_id IN (SELECT id FROM segment WHERE parent_id = $1::bigint)
