DROP INDEX asset_title;
DROP TABLE former_file;
ALTER TABLE segment DROP COLUMN known_bytes, DROP COLUMN known_sha256, DROP COLUMN known_validator,
    DROP COLUMN known_verified;
ALTER TABLE refreshed_file DROP COLUMN served_sha256;
ALTER TABLE document DROP COLUMN served_sha256;
