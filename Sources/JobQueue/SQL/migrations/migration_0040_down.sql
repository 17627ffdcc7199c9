ALTER TABLE directory DROP COLUMN sums_at;
