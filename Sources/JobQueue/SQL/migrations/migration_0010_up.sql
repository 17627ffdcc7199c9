-- What a job waits for, where that is not just time.
ALTER TABLE delayed_job ADD COLUMN failure_code text, ADD COLUMN failure_message text;
CREATE INDEX delayed_job_held_up ON delayed_job (catalog_id, id) WHERE failure_code IS NOT NULL;
