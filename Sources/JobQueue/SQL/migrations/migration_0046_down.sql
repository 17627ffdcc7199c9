ALTER TABLE site DROP COLUMN volume_file_system, DROP COLUMN volume_accepted, DROP COLUMN resumed_at;
