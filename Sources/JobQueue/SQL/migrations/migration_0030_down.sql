CREATE INDEX asset_title ON asset (hashtextextended(key, 0)) WHERE kind <> 'file';
DROP INDEX asset_key, asset_key_taken;
ALTER TABLE asset DROP COLUMN key_taken;
