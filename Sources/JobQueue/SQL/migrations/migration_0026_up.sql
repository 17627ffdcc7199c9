-- The SHA-256 of what the origin served, in place of which a document is stored; null where that is not known.
ALTER TABLE document ADD COLUMN served_sha256 text;
ALTER TABLE refreshed_file ADD COLUMN served_sha256 text;
-- What was stored under its key from its URL for another asset, or for another choice of tracks: its job looks
-- whether that lies there. Null for nearly all.
ALTER TABLE segment ADD COLUMN known_bytes bigint, ADD COLUMN known_sha256 text,
    ADD COLUMN known_validator text, ADD COLUMN known_verified boolean;
-- Files of titles that were listed before their tracks were chosen anew, and what was stored of them; of manifests
-- what was served.
CREATE TABLE former_file (
    asset_id bigint NOT NULL,
    key text NOT NULL,
    url text NOT NULL,
    expected_digests text,
    -- Of a manifest of the title; null for all else.
    manifest_sha256 text,
    -- Null for a manifest that was never stored.
    bytes bigint,
    sha256 text,
    verified boolean,
    validator text,
    stored_at timestamptz,
    CHECK (manifest_sha256 IS NOT NULL OR sha256 IS NOT NULL),
    CHECK ((sha256 IS NULL) = (bytes IS NULL))
);
-- Keys may be longer than what an index takes.
CREATE UNIQUE INDEX former_file_key ON former_file (asset_id, hashtextextended(key, 0));
-- Titles of the same manifest.
CREATE INDEX asset_title ON asset (hashtextextended(key, 0)) WHERE kind <> 'file';
