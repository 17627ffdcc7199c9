ALTER TABLE origin DROP COLUMN noted_at;
ALTER TABLE origin DROP COLUMN is_listed;
