ALTER TABLE refreshed_file DROP COLUMN mirrors;
ALTER TABLE refreshed_file DROP COLUMN job_id;
