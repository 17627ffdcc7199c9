-- Nothing is fetched of an asset whose key holds another object: see start_key_holders.sql.
ALTER TABLE asset ADD COLUMN key_taken boolean NOT NULL DEFAULT false;
CREATE INDEX asset_key_taken ON asset (catalog_id) WHERE key_taken;
-- Who else has a key, files as well as titles.
CREATE INDEX asset_key ON asset (hashtextextended(key, 0));
DROP INDEX IF EXISTS asset_title;
