-- A refresh that was under way is ended: what it has handed in does not say which file is staged where.
{{refreshesEnded}}
ALTER TABLE asset DROP CONSTRAINT IF EXISTS asset_state_check,
    ADD CONSTRAINT asset_state_check CHECK (state IN ({{assetStates}}));
ALTER TABLE job DROP CONSTRAINT IF EXISTS job_kind_check,
    ADD CONSTRAINT job_kind_check CHECK (kind IN ({{jobKinds}}));
DROP TABLE refreshed_file;
-- Files of an asset as a refresh found them, until its job is reported done and they become what is known.
CREATE TABLE refreshed_file (
    asset_id bigint NOT NULL,
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
    -- The number of the file that holds the new bytes; null where there are none.
    staged int CHECK (staged > 0),
    PRIMARY KEY (asset_id, ordinal)
);
-- Assets whose staged files may take their places, by job and lease under which they were staged. Segments: of a
-- title that lists other files than before, how many.
CREATE TABLE refresh_switch (
    asset_id bigint PRIMARY KEY,
    job_id bigint NOT NULL,
    lease_id uuid NOT NULL,
    segments int CHECK (segments > 0)
);
