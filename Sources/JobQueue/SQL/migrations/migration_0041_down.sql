ALTER TABLE catalog DROP COLUMN pace;
ALTER TABLE worker DROP COLUMN queues;
DROP INDEX delayed_job_of_catalog;
CREATE INDEX delayed_job_of_catalog ON delayed_job (catalog_id);
ALTER TABLE delayed_job DROP COLUMN retry_code;
