ALTER TABLE assembly DROP COLUMN digests;
