ALTER TABLE site DROP COLUMN volume_id;
