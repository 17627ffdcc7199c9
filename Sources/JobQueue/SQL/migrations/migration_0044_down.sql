ALTER TABLE catalog DROP COLUMN key_queries;
