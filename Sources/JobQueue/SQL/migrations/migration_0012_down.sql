ALTER TABLE site DROP COLUMN under_way_bytes;
