-- Of a file in parts, the bytes of those that are stored: its room is taken for all of it.
ALTER TABLE assembly ADD COLUMN bytes_done bigint NOT NULL DEFAULT 0;
UPDATE assembly y SET bytes_done = (
    SELECT coalesce(sum(s.range_length), 0) FROM segment s JOIN result r ON r.segment_id = s.id
    WHERE s.parent_id = y.segment_id AND r.done);
-- The assembly of an earlier try that nobody goes on with: it is removed at the site by the next one.
ALTER TABLE segment ADD COLUMN former_assembly uuid;
