-- Whose try it is that handed a file in: of an asset's jobs, each has another number.
ALTER TABLE refreshed_file ADD COLUMN job_id bigint NOT NULL DEFAULT 0;
-- As of a segment.
ALTER TABLE refreshed_file ADD COLUMN mirrors text;
