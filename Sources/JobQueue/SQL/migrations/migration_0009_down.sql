ALTER TABLE result DROP COLUMN verified;
ALTER TABLE segment DROP COLUMN expected_digests, DROP COLUMN is_whole;
ALTER TABLE asset DROP COLUMN expected_digests;
