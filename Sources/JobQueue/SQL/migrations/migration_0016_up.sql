-- Files that belong to an asset: a poster, subtitles. Those that are not required may fail without it.
-- [{"url", "key", "origin", "role", "required", "bytes", "sha256", "digests"}, …]
ALTER TABLE asset ADD COLUMN sidecars jsonb;
CREATE INDEX asset_with_sidecars ON asset (catalog_id) WHERE sidecars IS NOT NULL;
ALTER TABLE segment ADD COLUMN optional boolean NOT NULL DEFAULT false;
