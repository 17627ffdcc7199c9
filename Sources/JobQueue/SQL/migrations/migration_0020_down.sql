-- What the steps before know: there is nothing to refresh.
DELETE FROM job WHERE kind = 'refresh';
DELETE FROM delayed_job WHERE kind = 'refresh';
UPDATE asset SET state = 'completed' WHERE state = 'refreshing';
ALTER TABLE asset DROP COLUMN refreshed;
DROP TABLE refreshed_file;
