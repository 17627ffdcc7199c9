DROP TABLE sums_writer;
DROP INDEX directory_by_path, directory_sums_unwritten;
CREATE INDEX directory_by_path ON directory (site_id, path);
ALTER TABLE directory DROP COLUMN sums;
