ALTER TABLE site DROP COLUMN closed;
ALTER TABLE site DROP COLUMN floor_bytes, DROP COLUMN quota_bytes, DROP COLUMN available_bytes,
    DROP COLUMN seen_at,
    DROP COLUMN fault_code, DROP COLUMN fault_message, DROP COLUMN fault_since,
    DROP COLUMN fault_retry_at, DROP COLUMN fault_tries, DROP COLUMN fault_ended_at;
ALTER TABLE site RENAME COLUMN schedule_closed TO closed;
