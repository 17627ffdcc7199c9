ALTER TABLE cluster DROP COLUMN served_at, DROP COLUMN served_since, DROP COLUMN machine;
