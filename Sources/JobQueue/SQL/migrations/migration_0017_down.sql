DROP TABLE document;
ALTER TABLE catalog DROP COLUMN title_options;
