ALTER TABLE delayed_job DROP COLUMN failure_code, DROP COLUMN failure_message;
