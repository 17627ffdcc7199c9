ALTER TABLE site DROP COLUMN max_bytes_per_second, DROP COLUMN next_change;
