-- Sites, catalogs, assets, segments, and the queue of jobs over them.
--
-- Two kinds of table: what is wanted and known (site … result), wide rows that seldom change, and
-- what is to be done now (job, lease), narrow rows that come and go. A segment's state is derived:
-- its result says done or failed, its job says leased or waiting.

CREATE TABLE site (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    storage_url text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE queue (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site_id bigint NOT NULL UNIQUE REFERENCES site,
    name text NOT NULL UNIQUE
);

CREATE TABLE origin (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL UNIQUE,
    cooldown_until timestamptz,
    cooldown_reason text
);

CREATE TABLE catalog (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site_id bigint NOT NULL REFERENCES site,
    queue_id bigint NOT NULL REFERENCES queue,
    name text NOT NULL,
    priority smallint NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 9),
    -- Counts submissions: the one last opened, and the one last started. Assets of an earlier one
    -- that were not named again stay out.
    opened_generation int NOT NULL DEFAULT 1,
    generation int NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'open'
        CHECK (state IN ('open', 'running', 'interrupted', 'completed', 'failed')),
    started_at timestamptz,
    ended_at timestamptz,
    -- Totals over the present generation, kept by whoever changes what they count.
    assets bigint NOT NULL DEFAULT 0,
    assets_completed bigint NOT NULL DEFAULT 0,
    assets_failed bigint NOT NULL DEFAULT 0,
    segments bigint NOT NULL DEFAULT 0,
    segments_done bigint NOT NULL DEFAULT 0,
    segments_failed bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    adopted_bytes bigint NOT NULL DEFAULT 0,
    retries bigint NOT NULL DEFAULT 0,
    -- Directories whose SHA256SUMS is still to be written; the catalog ends after the last.
    sums_outstanding bigint NOT NULL DEFAULT 0,
    sums_failed bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (site_id, name)
) WITH (fillfactor = 50);

CREATE TABLE directory (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    catalog_id bigint NOT NULL REFERENCES catalog ON DELETE CASCADE,
    site_id bigint NOT NULL REFERENCES site,
    path text NOT NULL,
    -- Assets of it that have not settled; at zero its SHA256SUMS is written.
    unsettled bigint NOT NULL DEFAULT 0,
    UNIQUE (catalog_id, path)
) WITH (fillfactor = 70);
CREATE INDEX directory_by_path ON directory (site_id, path);

CREATE TABLE asset (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    catalog_id bigint NOT NULL,
    directory_id bigint NOT NULL,
    origin_id bigint NOT NULL,
    generation int NOT NULL,
    name text NOT NULL,
    url text NOT NULL,
    kind text NOT NULL CHECK (kind IN ({{assetKinds}})),
    key text NOT NULL,
    expected_bytes bigint CHECK (expected_bytes >= 0),
    expected_sha256 text,
    -- Named again with another URL, kind, key or digest; what was known of it goes at the start.
    redefined boolean NOT NULL DEFAULT false,
    state text NOT NULL DEFAULT 'new' CHECK (state IN ({{assetStates}})),
    -- Its segments are all known: from the start for a file, by its manifest for the others.
    resolved boolean NOT NULL DEFAULT false,
    segments int NOT NULL DEFAULT 0,
    segments_done int NOT NULL DEFAULT 0,
    segments_failed int NOT NULL DEFAULT 0,
    verifies int NOT NULL DEFAULT 0,
    verifies_done int NOT NULL DEFAULT 0,
    verifies_failed int NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    adopted_bytes bigint NOT NULL DEFAULT 0,
    retries int NOT NULL DEFAULT 0,
    failure_code text,
    failure_message text,
    changed_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (catalog_id, name),
    CHECK (segments_done + segments_failed <= segments),
    CHECK (verifies_done + verifies_failed <= verifies),
    CHECK (state <> 'completed' OR (segments_done = segments AND verifies_done = verifies))
    -- Each row is written anew at its start and at its end; with room on its page, and no index on
    -- what changes, no index is touched.
) WITH (fillfactor = 50);
CREATE INDEX asset_by_directory ON asset (directory_id, id);

CREATE TABLE segment (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    asset_id bigint NOT NULL,
    -- Set for a part: the segment of the whole file.
    parent_id bigint,
    origin_id bigint NOT NULL,
    ordinal int NOT NULL CHECK (ordinal >= 0),
    -- 0 for a whole object; parts count from 1.
    part int NOT NULL DEFAULT 0 CHECK (part >= 0),
    role text NOT NULL CHECK (role IN ({{segmentRoles}})),
    url text NOT NULL,
    key text NOT NULL,
    range_offset bigint,
    range_length bigint,
    expected_bytes bigint,
    expected_sha256 text,
    UNIQUE (asset_id, ordinal, part),
    CHECK ((parent_id IS NULL) = (part = 0)),
    CHECK ((part = 0) = (range_offset IS NULL))
);
CREATE INDEX segment_by_parent ON segment (parent_id) WHERE parent_id IS NOT NULL;

-- How a segment ended. Insert-mostly; written again only when the segment is fetched again.
CREATE TABLE result (
    segment_id bigint PRIMARY KEY,
    done boolean NOT NULL,
    bytes bigint,
    sha256 text,
    failure_code text,
    failure_message text,
    attempts smallint NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    CHECK (CASE WHEN done THEN bytes >= 0 AND sha256 IS NOT NULL ELSE failure_code IS NOT NULL END)
);

-- A large file being put together from parts.
CREATE TABLE assembly (
    id uuid PRIMARY KEY,
    segment_id bigint NOT NULL UNIQUE,
    total_bytes bigint NOT NULL,
    validator text NOT NULL,
    parts int NOT NULL,
    parts_done int NOT NULL DEFAULT 0,
    failed boolean NOT NULL DEFAULT false,
    -- The try of the whole file that was split; when its parts do not fit, the next one follows.
    attempt smallint NOT NULL,
    CHECK (parts_done <= parts)
);

CREATE TABLE worker (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    active_transfers int NOT NULL DEFAULT 0,
    -- Transfers under way, by asset number: receivedBytes, expectedBytes, transfers.
    progress jsonb NOT NULL DEFAULT '{}',
    first_seen timestamptz NOT NULL DEFAULT now(),
    last_seen timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE TABLE lease (
    id uuid PRIMARY KEY,
    worker_id uuid NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX lease_by_expiry ON lease (expires_at);

CREATE TABLE job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id bigint NOT NULL,
    catalog_id bigint NOT NULL,
    origin_id bigint,
    -- resolve, fetch, verify: the asset; sums: 0.
    asset_id bigint NOT NULL,
    segment_id bigint,
    directory_id bigint,
    kind text NOT NULL CHECK (kind IN ({{jobKinds}})),
    priority smallint NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    available_at timestamptz NOT NULL DEFAULT now(),
    lease_id uuid,
    CHECK ((segment_id IS NOT NULL) = (kind IN ('fetch', 'verify'))),
    CHECK ((directory_id IS NOT NULL) = (kind = 'sums'))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX job_claimable ON job (queue_id, priority DESC, available_at, id)
    WHERE lease_id IS NULL;
CREATE INDEX job_leased ON job (lease_id) WHERE lease_id IS NOT NULL;
CREATE UNIQUE INDEX job_of_segment ON job (segment_id) WHERE segment_id IS NOT NULL;
CREATE UNIQUE INDEX job_of_directory ON job (directory_id) WHERE directory_id IS NOT NULL;
CREATE UNIQUE INDEX job_resolving ON job (asset_id) WHERE kind = 'resolve';
