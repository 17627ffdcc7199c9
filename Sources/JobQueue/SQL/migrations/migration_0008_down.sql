ALTER TABLE catalog DROP COLUMN has_mirrors;
DROP TABLE mirror;
