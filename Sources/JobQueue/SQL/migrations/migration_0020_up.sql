-- What the last refresh of an asset came to; null before one.
ALTER TABLE asset ADD COLUMN refreshed text CHECK (refreshed IN ({{refreshOutcomes}}));
ALTER TABLE asset DROP CONSTRAINT IF EXISTS asset_state_check,
    ADD CONSTRAINT asset_state_check CHECK (state IN ({{assetStates}}));
ALTER TABLE job DROP CONSTRAINT IF EXISTS job_kind_check,
    ADD CONSTRAINT job_kind_check CHECK (kind IN ({{jobKinds}}));
-- Files that a refresh has put to the edge, until its job is reported done and they become what is known.
CREATE TABLE refreshed_file (
    asset_id bigint NOT NULL,
    job_id bigint NOT NULL,
    ordinal int NOT NULL,
    origin text NOT NULL,
    url text NOT NULL,
    key text NOT NULL,
    role text NOT NULL,
    expected_bytes bigint,
    expected_sha256 text,
    content text,
    bytes bigint NOT NULL,
    sha256 text NOT NULL,
    validator text,
    verified boolean NOT NULL,
    PRIMARY KEY (asset_id, job_id, ordinal)
);
