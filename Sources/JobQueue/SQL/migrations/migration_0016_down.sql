ALTER TABLE segment DROP COLUMN optional;
DROP INDEX asset_with_sidecars;
ALTER TABLE asset DROP COLUMN sidecars;
