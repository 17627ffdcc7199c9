ALTER TABLE asset DROP COLUMN warnings;
