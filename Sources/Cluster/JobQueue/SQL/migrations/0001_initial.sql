-- Dray's schema, version 1: read it from top to bottom.
--
-- There are two kinds of tables. What is wanted and known (site to result) has wide rows that seldom change. What is to
-- be done now (lane to cancelled_job) has narrow rows that come and go. A segment has no column for its state: its
-- result says that it is done or failed, its job that it is waiting or leased.
--
-- Rows that are written often have room on their pages (fillfactor) and no index on what changes, so that an update
-- touches no index. Where a table has no reference, its rows are looked up too often to pay for one, and
-- housekeeping deletes what is left over.

-- MARK: Cluster

-- One row. Tells this database's assets and jobs from those of others whose workers store at the same site, for their
-- numbers are the same.
CREATE TABLE cluster (
    id uuid NOT NULL,
    -- When a coordinator last swept leases, and since when that happened without a pause.
    served_at timestamptz,
    served_since timestamptz,
    -- On which all of a private cluster was last started; null for others.
    machine text
);
INSERT INTO cluster (id) VALUES (gen_random_uuid());

-- MARK: Sites and queues

CREATE TABLE site (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    storage_url text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- By its schedule: nothing may be fetched now, and when that changes next.
    schedule text NOT NULL DEFAULT '',
    schedule_closed boolean NOT NULL DEFAULT false,
    next_change timestamptz,
    -- The limit in force, and the one that holds whatever the schedule says.
    bytes_per_second bigint CHECK (bytes_per_second > 0),
    max_bytes_per_second bigint CHECK (max_bytes_per_second > 0),
    -- Bytes of its file system that stay free.
    floor_bytes bigint CHECK (floor_bytes > 0),
    -- The most that its catalogs may hold.
    quota_bytes bigint CHECK (quota_bytes > 0),
    -- Of a site with a quota: the bytes of what its workers had under way when they last reported.
    under_way_bytes bigint NOT NULL DEFAULT 0,
    -- What a worker last found free on its file system, and when.
    available_bytes bigint,
    seen_at timestamptz,
    -- Identifies the volume that the directory is on, by the mark that a worker found or made there; null until then.
    volume_id uuid,
    -- The file system that it was last found on; null where that has no identity.
    volume_file_system text,
    -- Why nothing can be written there now.
    fault_code text,
    fault_message text,
    -- When it began; kept after its end, until the next one.
    fault_since timestamptz,
    -- When a worker tries again whether the site can be written; null while one does.
    fault_retry_at timestamptz,
    -- How often it was paused in a row, from which the time between tries follows.
    fault_tries int NOT NULL DEFAULT 0,
    -- When it could be written again.
    fault_ended_at timestamptz,
    -- When an operator last ended a fault.
    resumed_at timestamptz,
    -- Nothing may be fetched, by its schedule or because it cannot be written.
    closed boolean NOT NULL
        GENERATED ALWAYS AS (schedule_closed
                             OR (fault_code IS NOT NULL AND fault_retry_at IS NOT NULL)) STORED
);

CREATE TABLE queue (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site_id bigint NOT NULL UNIQUE REFERENCES site,
    name text NOT NULL UNIQUE,
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'draining'))
);

-- MARK: Origins

-- The limits count all workers together; null is no limit. The row of number 0 has the limits of origins without any of
-- their own.
CREATE TABLE origin (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL UNIQUE,
    has_own_limits boolean NOT NULL DEFAULT false,
    max_connections int CHECK (max_connections > 0),
    requests_per_second float8 CHECK (requests_per_second > 0),
    bytes_per_second bigint CHECK (bytes_per_second > 0),
    cooldown_until timestamptz,
    cooldown_reason text,
    breaker text NOT NULL DEFAULT 'closed'
        CHECK (breaker IN ('closed', 'open', 'halfOpen', 'failing')),
    -- Failures in a row that count against the origin; a success sets it to 0.
    failures int NOT NULL DEFAULT 0,
    -- How often the breaker opened since the last success.
    openings int NOT NULL DEFAULT 0,
    -- A list, a manifest or an operator names it. Others are kept for what they did, until that is over.
    is_listed boolean NOT NULL DEFAULT true,
    -- When it last did something to remember; of those that no list names.
    noted_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX origin_cooling ON origin (cooldown_until) WHERE cooldown_until IS NOT NULL;
CREATE INDEX origin_unlisted ON origin (id) WHERE NOT is_listed;
-- Those that have limits of their own.
CREATE INDEX origin_limited ON origin (id)
    WHERE max_connections IS NOT NULL OR requests_per_second IS NOT NULL OR bytes_per_second IS NOT NULL;
INSERT INTO origin (id, url) OVERRIDING SYSTEM VALUE VALUES (0, '');

-- The limits in force.
CREATE VIEW origin_limit AS
SELECT o.id, CASE WHEN o.has_own_limits THEN o.max_connections ELSE d.max_connections END
           AS connections,
       CASE WHEN o.has_own_limits THEN o.requests_per_second ELSE d.requests_per_second END
           AS requests_per_second,
       CASE WHEN o.has_own_limits THEN o.bytes_per_second ELSE d.bytes_per_second END
           AS bytes_per_second
FROM origin o, origin d WHERE d.id = 0 AND o.id <> 0;

-- What was decided about an origin, and why; pruned to the latest of each.
CREATE TABLE origin_decision (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    origin_id bigint NOT NULL,
    -- Null for what the cluster decided.
    worker_id uuid,
    decided_at timestamptz NOT NULL DEFAULT now(),
    decision text NOT NULL,
    -- What a worker says; of the cluster's own decisions clients say it, by the numbers below.
    reason text,
    concurrency int,
    bytes_per_second bigint,
    -- Of the failure that led to it, how many there were in a row, after how many openings of the circuit breaker, and
    -- how long a cooldown lasts.
    code text,
    failures int,
    openings int,
    seconds float8,
    CHECK ((worker_id IS NULL) = (reason IS NULL))
);
CREATE INDEX origin_decision_of ON origin_decision (origin_id, id);

-- MARK: Catalogs and assets

CREATE TABLE catalog (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site_id bigint NOT NULL REFERENCES site,
    queue_id bigint NOT NULL REFERENCES queue,
    name text NOT NULL,
    priority smallint NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 9),
    not_before timestamptz,
    -- Of the submission that was last started, and of the one last opened.
    deadline timestamptz,
    opened_deadline timestamptz,
    -- What is wanted of its titles, as JSON; null for all of it.
    title_options text,
    -- Which query parameters belong to keys, by origin: of each origin, '' for all others, the regular expressions of
    -- those that are kept and of those that are left out. Null where their names tell.
    key_queries jsonb,
    -- Some of its assets have had mirrors: a claim looks for them only then.
    has_mirrors boolean NOT NULL DEFAULT false,
    -- Counts submissions: the one last opened, and the one last started. Assets of an earlier one that were not named
    -- again stay out.
    opened_generation int NOT NULL DEFAULT 1,
    generation int NOT NULL DEFAULT 0,
    -- How often it was started. Before the second time nothing of it was stored, and jobs need not look for it.
    starts int NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'open'
        CHECK (state IN ('open', 'running', 'interrupted', 'completed', 'failed', 'cancelled')),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When a submission to it was last opened: from then on it is not forgotten for some time.
    opened_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    ended_at timestamptz,
    -- Totals over the present generation, without what is in `tally`.
    assets bigint NOT NULL DEFAULT 0,
    assets_completed bigint NOT NULL DEFAULT 0,
    assets_failed bigint NOT NULL DEFAULT 0,
    assets_cancelled bigint NOT NULL DEFAULT 0,
    segments bigint NOT NULL DEFAULT 0,
    segments_done bigint NOT NULL DEFAULT 0,
    segments_failed bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    adopted_bytes bigint NOT NULL DEFAULT 0,
    retries bigint NOT NULL DEFAULT 0,
    -- Directories whose SHA256SUMS is still to be written; the catalog ends after the last.
    sums_outstanding bigint NOT NULL DEFAULT 0,
    sums_failed bigint NOT NULL DEFAULT 0,
    -- Two samples of these, 30 to 120 seconds apart: {seconds since 1970, segments that ended, bytes fetched} of the
    -- first one, then of the second. Null before the first one.
    pace float8[],
    UNIQUE (site_id, name)
) WITH (fillfactor = 50);

-- A directory of the site as one catalog has it.
CREATE TABLE directory (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    catalog_id bigint NOT NULL REFERENCES catalog ON DELETE CASCADE,
    site_id bigint NOT NULL REFERENCES site,
    path text NOT NULL,
    -- Assets of it that have not settled; at zero its part of SHA256SUMS is due.
    unsettled bigint NOT NULL DEFAULT 0,
    -- Its part of a SHA256SUMS: `due` from the end of its assets on, `read` by the worker whose turn it is, `written`
    -- when that one has reported. Null before its assets have ended for the first time.
    sums text CHECK (sums IN ('due', 'read', 'written')),
    UNIQUE (catalog_id, path)
) WITH (fillfactor = 70);
-- The lines of one SHA256SUMS are read catalog by catalog.
CREATE INDEX directory_by_path ON directory (site_id, path, id);
CREATE INDEX directory_sums_unwritten ON directory (site_id, path) WHERE sums IN ('due', 'read');

CREATE TABLE asset (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    catalog_id bigint NOT NULL,
    directory_id bigint NOT NULL,
    origin_id bigint NOT NULL,
    generation int NOT NULL,
    name text NOT NULL,
    url text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('file', 'hls', 'dash')),
    key text NOT NULL,
    -- Its own, before its catalog's.
    priority smallint CHECK (priority BETWEEN 0 AND 9),
    expected_bytes bigint CHECK (expected_bytes >= 0),
    expected_sha256 text,
    -- Others that a list names: crc32c=…,md5=… in hex digits.
    expected_digests text,
    -- Files that belong to it: a poster, subtitles. Those that are not required may fail without it.
    -- [{"url", "key", "origin", "role", "required", "bytes", "sha256", "digests"}, …]
    sidecars jsonb,
    -- Since its last start: named with other sidecars, which leaves its own segments as they are.
    sidecars_changed boolean NOT NULL DEFAULT false,
    -- Named again with another URL, kind, key or digest; what was known of it is dropped at the start.
    redefined boolean NOT NULL DEFAULT false,
    -- Submitted again with another signature; what is not stored gets it with the next start.
    url_changed boolean NOT NULL DEFAULT false,
    -- Nothing is fetched of it, because its key holds another object.
    key_taken boolean NOT NULL DEFAULT false,
    state text NOT NULL DEFAULT 'new'
        CHECK (state IN ('new', 'resolving', 'ready', 'inProgress', 'verifying', 'completed',
                         'refreshing', 'switching', 'interrupted', 'failed', 'cancelled')),
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
    -- Rules that its manifests break, as JSON; null for none.
    warnings text,
    -- The outcome of its last refresh; null before one.
    refreshed text CHECK (refreshed IN ('unchanged', 'changed', 'failed')),
    -- Since when its manifest is read again for fresh URLs in place of expired ones, how often in a row that was
    -- without a segment stored since, and how many were stored when it was last queued.
    renewing_since timestamptz,
    renewals smallint NOT NULL DEFAULT 0,
    renewed_done int NOT NULL DEFAULT 0,
    changed_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (catalog_id, name),
    CHECK (segments_done + segments_failed <= segments),
    CHECK (verifies_done + verifies_failed <= verifies),
    CHECK (state <> 'completed' OR (segments_done = segments AND verifies_done = verifies))
    -- Each row is written again at its start and at its end.
) WITH (fillfactor = 50);
CREATE INDEX asset_by_directory ON asset (directory_id, id);
-- Who else has a key, which may be longer than what an index takes.
CREATE INDEX asset_key ON asset (hashtextextended(key, 0));
CREATE INDEX asset_key_taken ON asset (catalog_id) WHERE key_taken;
CREATE INDEX asset_with_sidecars ON asset (catalog_id) WHERE sidecars IS NOT NULL;

-- Other URLs of a file's bytes.
CREATE TABLE mirror (
    asset_id bigint PRIMARY KEY,
    urls text[] NOT NULL CHECK (cardinality(urls) > 0)
);

-- MARK: Segments and results

CREATE TABLE segment (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    asset_id bigint NOT NULL,
    -- Of a part: the segment of the whole file.
    parent_id bigint,
    origin_id bigint NOT NULL,
    ordinal int NOT NULL CHECK (ordinal >= 0),
    -- 0 for a whole object; parts count from 1.
    part int NOT NULL DEFAULT 0 CHECK (part >= 0),
    role text NOT NULL
        CHECK (role IN ('file', 'media', 'init', 'key', 'playlist', 'subtitles', 'image', 'index',
                        'data')),
    -- A sidecar that is not required.
    optional boolean NOT NULL DEFAULT false,
    url text NOT NULL,
    -- When its URL was last replaced by a fresh one.
    renewed_at timestamptz,
    -- Other URLs of the bytes of a title's segment, a line each.
    mirrors text,
    key text NOT NULL,
    range_offset bigint,
    range_length bigint,
    expected_bytes bigint,
    expected_sha256 text,
    expected_digests text,
    -- A file that is not divided again: its origin has promised ranges and served none.
    is_whole boolean,
    -- The assembly of an earlier try that no worker resumes: the next one removes it at the site.
    former_assembly uuid,
    -- What was stored under its key from its URL for another asset, or for another choice of tracks: its job looks
    -- whether that is still there. Null for nearly all.
    known_bytes bigint,
    known_sha256 text,
    known_validator text,
    known_verified boolean,
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
    -- The bytes were compared with what a list or an origin states; null is no.
    verified boolean,
    -- What the origin calls the bytes that it served: an ETag, else a Last-Modified date.
    validator text,
    failure_code text,
    failure_message text,
    attempts smallint NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    CHECK (CASE WHEN done THEN bytes >= 0 AND sha256 IS NOT NULL ELSE failure_code IS NOT NULL END)
);

-- A large file that is fetched in parts.
CREATE TABLE assembly (
    id uuid PRIMARY KEY,
    segment_id bigint NOT NULL UNIQUE,
    -- The site at which it takes room: for all of the file from the start.
    site_id bigint,
    total_bytes bigint NOT NULL,
    bytes_done bigint NOT NULL DEFAULT 0,
    validator text NOT NULL,
    -- What the origin has stated of the whole file: md5=…, sha256=…, in hex digits.
    digests text[] NOT NULL DEFAULT '{}',
    parts int NOT NULL,
    parts_done int NOT NULL DEFAULT 0,
    failed boolean NOT NULL DEFAULT false,
    -- The try of the whole file that was divided; when its parts do not fit, the next one follows.
    attempt smallint NOT NULL,
    CHECK (parts_done <= parts)
);

-- Assemblies that no worker resumes: the next worker at the site removes their files, once.
CREATE TABLE abandoned_assembly (
    id uuid PRIMARY KEY,
    site_id bigint NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT now()
);

-- However one ends. Of one that was put together there is no such file any more.
CREATE FUNCTION note_abandoned_assemblies() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO abandoned_assembly (id, site_id)
    SELECT id, site_id FROM gone WHERE site_id IS NOT NULL
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER assembly_gone AFTER DELETE ON assembly REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_abandoned_assemblies();

-- Manifests that are stored otherwise than they were served, until their segments are deleted.
CREATE TABLE document (
    segment_id bigint PRIMARY KEY,
    content text NOT NULL,
    -- Of what the origin served; null where that is not known.
    served_sha256 text
);

-- Files that titles listed before their tracks were selected again, with their stored results, and the manifests as
-- they were served.
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
CREATE UNIQUE INDEX former_file_key ON former_file (asset_id, hashtextextended(key, 0));

-- MARK: Refreshing

-- Files of an asset as a refresh found them, until its job is reported done and they become what is known.
CREATE TABLE refreshed_file (
    asset_id bigint NOT NULL,
    ordinal int NOT NULL,
    -- The try that handed it in: of an asset's jobs, each has another number.
    job_id bigint NOT NULL DEFAULT 0,
    origin text NOT NULL,
    url text NOT NULL,
    mirrors text,
    key text NOT NULL,
    role text NOT NULL,
    expected_bytes bigint,
    expected_sha256 text,
    content text,
    served_sha256 text,
    bytes bigint NOT NULL,
    sha256 text NOT NULL,
    validator text,
    verified boolean NOT NULL,
    -- The number of the file that holds the new bytes; null where there are none.
    staged int CHECK (staged > 0),
    PRIMARY KEY (asset_id, ordinal)
);

-- Assets whose staged files may replace the stored ones, by job and lease under which they were staged.
CREATE TABLE refresh_switch (
    asset_id bigint PRIMARY KEY,
    job_id bigint NOT NULL,
    lease_id uuid NOT NULL,
    -- Of a title that lists other files than before, how many.
    segments int CHECK (segments > 0)
);

-- MARK: Workers and leases

CREATE TABLE worker (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    -- The queues that it takes jobs of; null for all of them.
    queues text[],
    -- What it may write to: storage URLs of directories, null for every site; and sites within them that lead outside,
    -- by a symlink.
    roots text[],
    refused_sites bigint[] NOT NULL DEFAULT '{}',
    active_transfers int NOT NULL DEFAULT 0,
    -- Transfers under way, by asset number: receivedBytes, expectedBytes, transfers.
    progress jsonb NOT NULL DEFAULT '{}',
    -- What keeps it from working, as it reports, and since when.
    trouble_code text,
    trouble_message text,
    trouble_since timestamptz,
    first_seen timestamptz NOT NULL DEFAULT now(),
    last_seen timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- What each worker had done since it started, as of its last report in a minute: sums that only grow.
CREATE TABLE worker_minute (
    minute timestamptz NOT NULL,
    worker_id uuid NOT NULL,
    fetches bigint NOT NULL,
    bytes bigint NOT NULL,
    busy_seconds float8 NOT NULL,
    -- Sums of the first to fourth powers of seconds that fetches took.
    seconds float8 NOT NULL,
    seconds2 float8 NOT NULL,
    seconds3 float8 NOT NULL,
    seconds4 float8 NOT NULL,
    -- Null where its process does other work as well.
    cpu_seconds float8,
    connections int NOT NULL,
    cores int NOT NULL,
    PRIMARY KEY (minute, worker_id)
) WITH (fillfactor = 50);

CREATE TABLE lease (
    id uuid PRIMARY KEY,
    worker_id uuid NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    -- It holds a job that is tried alone.
    isolated boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE INDEX lease_by_expiry ON lease (expires_at);
CREATE INDEX lease_of_worker ON lease (worker_id);
CREATE INDEX lease_isolated ON lease (worker_id) WHERE isolated;

-- A worker's part of the limits of an origin or a site (Model/Quota.swift divides them). A row is made when the worker
-- is granted jobs of it, and deleted when the worker has no more to do there. Written under the lock of the origin's or
-- the site's row.
CREATE TABLE quota (
    kind text NOT NULL CHECK (kind IN ('origin', 'site')),
    resource_id bigint NOT NULL,
    worker_id uuid NOT NULL,
    -- Of the last grant, and of the first one with the same amounts.
    number bigint NOT NULL,
    since bigint NOT NULL,
    -- What the worker may use; null for what has no limit.
    connections bigint CHECK (connections >= 0),
    requests bigint CHECK (requests >= 0),
    bytes bigint CHECK (bytes >= 0),
    -- The most that it may still be using, by earlier grants as well.
    held_connections bigint,
    held_requests bigint,
    held_bytes bigint,
    -- When the last grant of other amounts was made, and a lease's time more: nothing larger is used from then on,
    -- whether that was reported or not. No bound for a quota that has ended.
    held_until timestamptz NOT NULL DEFAULT 'infinity',
    -- Transfers that it last reported to be under way there; null before it did.
    active int,
    -- The worker then stops by itself. What is held counts until a second later: requests of the last second still
    -- count.
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (kind, resource_id, worker_id)
) WITH (fillfactor = 50);
CREATE INDEX quota_of_worker ON quota (worker_id);
CREATE SEQUENCE quota_number;

-- MARK: Lanes and jobs
--
-- A lane's jobs are numbered in the order of their commits, because each transaction that adds to a lane holds its
-- row's lock. A claim takes the numbers after the last span of the lane, under the same lock, and writes one span:
-- from the first job to the last. Jobs are inserted and deleted, never updated when they are claimed, retried or
-- lost: what is tried again gets a new number, so that a number is granted at most once. No claim and no report
-- updates a row that the next one needs, so that an old open transaction does not make either slow.

CREATE TABLE lane (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id bigint NOT NULL,
    catalog_id bigint NOT NULL,
    -- 0 for jobs that ask no origin.
    origin_id bigint NOT NULL,
    -- The order in which a catalog's lanes are served: 0 what ends a file or a directory, 1 what was tried before, 2
    -- manifests, 3 segments, 4 what is tried alone.
    rank smallint NOT NULL CHECK (rank BETWEEN 0 AND 4),
    -- Of assets with a priority of their own; -1: the catalog's.
    own_priority smallint NOT NULL CHECK (own_priority BETWEEN -1 AND 9),
    -- Since when it may have jobs to claim; null when it has none.
    ready_since timestamptz,
    UNIQUE (catalog_id, origin_id, rank, own_priority)
) WITH (fillfactor = 50);
CREATE INDEX lane_ready ON lane (queue_id, catalog_id, rank, id) WHERE ready_since IS NOT NULL;
CREATE INDEX lane_isolated ON lane (queue_id) WHERE rank = 4 AND ready_since IS NOT NULL;

CREATE TABLE job (
    lane_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- 0 for sums.
    asset_id bigint NOT NULL,
    segment_id bigint,
    -- Of a part, and of a verification: the segment of the whole file.
    whole_id bigint,
    directory_id bigint,
    kind text NOT NULL
        CHECK (kind IN ('resolve', 'fetch', 'verify', 'sums', 'refresh', 'switch')),
    -- Tries before this one.
    attempt smallint NOT NULL,
    PRIMARY KEY (lane_id, id),
    CHECK ((segment_id IS NOT NULL) = (kind IN ('fetch', 'verify'))),
    CHECK ((directory_id IS NOT NULL) = (kind = 'sums'))
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX job_of_whole ON job (whole_id) WHERE whole_id IS NOT NULL;

-- The jobs of one lane that a lease holds, from the first to the last. The last one of a lane also says where the next
-- claim begins, and stays until there is a later one.
CREATE TABLE span (
    lane_id bigint NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    lease_id uuid NOT NULL,
    jobs int NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (lane_id, last_id),
    CHECK (first_id <= last_id)
);
CREATE INDEX span_of_lease ON span (lease_id);

-- Jobs on their way to a lane: not due yet, or added by a report, which takes no lane's lock.
CREATE TABLE delayed_job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id bigint NOT NULL,
    catalog_id bigint NOT NULL,
    origin_id bigint NOT NULL,
    rank smallint NOT NULL,
    own_priority smallint NOT NULL,
    asset_id bigint NOT NULL,
    segment_id bigint,
    whole_id bigint,
    directory_id bigint,
    kind text NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    available_at timestamptz NOT NULL DEFAULT now(),
    -- What it waits for, where that is not just time.
    failure_code text,
    failure_message text,
    -- Why it is tried again, where it waits for nothing but time.
    retry_code text,
    -- Of a job that waits for a fresh URL: what the origin answered to the last one. It is never due.
    refused_code text,
    refused_message text
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX delayed_job_due ON delayed_job (queue_id, available_at);
-- A catalog's next try is its first row.
CREATE INDEX delayed_job_of_catalog ON delayed_job (catalog_id, available_at);
CREATE INDEX delayed_job_of_whole ON delayed_job (whole_id) WHERE whole_id IS NOT NULL;
CREATE INDEX delayed_job_held_up ON delayed_job (catalog_id, id) WHERE failure_code IS NOT NULL;
CREATE INDEX delayed_job_refused ON delayed_job (asset_id, segment_id) WHERE refused_code IS NOT NULL;

-- Jobs that were cancelled while a lease held them: its worker is notified at its next heartbeat.
CREATE TABLE cancelled_job (
    lease_id uuid NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (lease_id, job_id)
);

-- Jobs that workers died with. One that has met a death is a suspect: it waits in a lane of rank 4, and is leased
-- alone, to a worker that holds nothing else. The next death is then caused by that job.
CREATE TABLE job_loss (
    kind text NOT NULL
        CHECK (kind IN ('resolve', 'fetch', 'verify', 'sums', 'refresh', 'switch')),
    -- Of fetch and verify the segment, of sums the directory, of others the asset: a job's number changes.
    target_id bigint NOT NULL,
    worker_id uuid NOT NULL,
    worker_name text,
    catalog_id bigint NOT NULL,
    lost_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, target_id, worker_id)
);
CREATE INDEX job_loss_of_catalog ON job_loss (catalog_id);

-- Whose turn it is to write the SHA256SUMS of a directory, for all catalogs that have it.
CREATE TABLE sums_writer (
    site_id bigint NOT NULL,
    path text NOT NULL,
    lane_id bigint NOT NULL,
    job_id bigint NOT NULL,
    lease_id uuid NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT now(),
    -- Since when the job is gone while its lease stands: the worker may not know yet.
    lost_at timestamptz,
    PRIMARY KEY (site_id, path)
) WITH (fillfactor = 70);

-- What reports added to counts and is not in them yet: a row a batch, so that reports do not queue for the row of a
-- catalog, a directory or a title. With an asset: segments of it that are done, to be added to the asset, its directory
-- and its catalog; without one, the asset has them already.
CREATE TABLE tally (
    id bigint GENERATED ALWAYS AS IDENTITY,
    catalog_id bigint NOT NULL,
    asset_id bigint,
    directory_id bigint,
    assets_completed int NOT NULL DEFAULT 0,
    assets_failed int NOT NULL DEFAULT 0,
    assets_cancelled int NOT NULL DEFAULT 0,
    segments int NOT NULL DEFAULT 0,
    segments_done int NOT NULL DEFAULT 0,
    segments_failed int NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    adopted_bytes bigint NOT NULL DEFAULT 0,
    retries int NOT NULL DEFAULT 0,
    sums_ended int NOT NULL DEFAULT 0,
    sums_failed int NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX tally_of_catalog ON tally (catalog_id);

-- MARK: Load tests

-- Load tests on workers. Measurements stay until the follower has read them, or for a day after the end.
CREATE TABLE load_test (
    id uuid PRIMARY KEY,
    -- Null for any worker of the cluster.
    queue_id bigint REFERENCES queue,
    name text NOT NULL,
    -- As workers read it; empty once the test has ended.
    scenario text NOT NULL,
    -- Among how many workers it is divided; null for all that are ready when the wait is over.
    workers int CHECK (workers > 0),
    at_least int NOT NULL CHECK (at_least > 0),
    duration_seconds float8 NOT NULL,
    state text NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'running', 'stopping', 'ended')),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Until when workers may join.
    join_until timestamptz NOT NULL,
    -- Null until it is set.
    start_at timestamptz,
    stopped_at timestamptz,
    ended_at timestamptz,
    -- When somebody last asked for what is new of it.
    followed_at timestamptz NOT NULL DEFAULT now(),
    -- Why it did not start, or stopped by itself.
    failure_code text,
    failure_message text,
    CHECK ((failure_code IS NULL) = (failure_message IS NULL))
);
-- One at a time of a queue, and one of the whole cluster.
CREATE UNIQUE INDEX load_test_open ON load_test (coalesce(queue_id, 0)) WHERE state <> 'ended';

CREATE TABLE load_share (
    test_id uuid NOT NULL REFERENCES load_test ON DELETE CASCADE,
    worker_id uuid NOT NULL,
    worker_name text NOT NULL,
    -- From 0; null before the start.
    number int CHECK (number >= 0),
    state text NOT NULL DEFAULT 'joined'
        CHECK (state IN ('joined', 'ready', 'running', 'finished', 'failed', 'lost', 'dismissed')),
    joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    heard_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The first second that was not reported.
    next_second int NOT NULL DEFAULT 0,
    -- Of its worker's loops; 0 before it is ready.
    cores int NOT NULL DEFAULT 0,
    failure_code text,
    failure_message text,
    breakdown text,
    PRIMARY KEY (test_id, worker_id),
    CHECK ((failure_code IS NULL) = (failure_message IS NULL))
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX load_share_number ON load_share (test_id, number) WHERE number IS NOT NULL;

-- Their seconds, as workers wrote them.
CREATE TABLE load_interval (
    test_id uuid NOT NULL,
    number int NOT NULL,
    second int NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (test_id, number, second)
);

-- MARK: Settling

-- The state of an asset that is under way, by its counts. Whatever ends segments and verifications asks this: reports,
-- the fold of tallies, and failures that are rarer. In plain SQL, so that it is inlined.
CREATE FUNCTION settled_state(segments bigint, segments_done bigint, segments_failed bigint,
                              verifies bigint, verifies_done bigint, verifies_failed bigint)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN segments_done + segments_failed < segments THEN 'inProgress'
                WHEN verifies_done + verifies_failed < verifies THEN 'verifying'
                WHEN segments_failed + verifies_failed > 0 THEN 'failed'
                ELSE 'completed' END
$$;

-- MARK: Claiming
--
-- Functions because one claim is many statements, which would be as many round trips.

-- Puts what is due into its lanes. Up to 1,000 a call.
CREATE FUNCTION promote_jobs(of_queue bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    due bigint[];
BEGIN
    due := ARRAY(SELECT id FROM delayed_job WHERE queue_id = of_queue AND available_at <= now()
                 ORDER BY available_at, id LIMIT 1000 FOR UPDATE SKIP LOCKED);
    IF cardinality(due) = 0 THEN RETURN; END IF;
    INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
    SELECT DISTINCT d.queue_id, d.catalog_id, d.origin_id, d.rank, d.own_priority
    FROM delayed_job d
    WHERE d.id = ANY(due)
      AND NOT EXISTS (SELECT FROM lane l WHERE (l.catalog_id, l.origin_id, l.rank, l.own_priority)
                      = (d.catalog_id, d.origin_id, d.rank, d.own_priority))
    ORDER BY 2, 3, 4, 5
    ON CONFLICT DO NOTHING;
    -- Each lane's lock before any of its numbers is drawn.
    PERFORM l.id FROM lane l
    WHERE l.id = ANY(ARRAY(
        SELECT m.id FROM delayed_job d JOIN lane m
            ON (m.catalog_id, m.origin_id, m.rank, m.own_priority)
               = (d.catalog_id, d.origin_id, d.rank, d.own_priority)
        WHERE d.id = ANY(due)))
    ORDER BY l.id FOR UPDATE;
    WITH moved AS (
        DELETE FROM delayed_job WHERE id = ANY(due) RETURNING *
    ), placed AS (
        SELECT l.id AS lane_id, m.* FROM moved m
        JOIN lane l ON (l.catalog_id, l.origin_id, l.rank, l.own_priority)
            = (m.catalog_id, m.origin_id, m.rank, m.own_priority)
    ), inserted AS (
        INSERT INTO job (lane_id, asset_id, segment_id, whole_id, directory_id, kind, attempt)
        SELECT lane_id, asset_id, segment_id, whole_id, directory_id, kind, attempt
        FROM placed ORDER BY available_at, id
    )
    UPDATE lane SET ready_since = now()
    WHERE id = ANY(ARRAY(SELECT lane_id FROM placed)) AND ready_since IS NULL;
END $$;

-- The lanes of a queue that may be claimed from now, best first. Levels are priorities 0 to 9, with
-- one added for every minute that a lane has waited since its last grant; a deadline raises the
-- level in proportion to the time used, up to 9. Within a level, catalogs come in the order of what
-- they were granted in the last ten seconds, least first; `catalogs_left` counts from the row's
-- catalog to the last of the level. The catalogs of a queue are found by a loose index scan, and up
-- to 64 lanes of each are read, so that many lanes of one catalog cost the others nothing. Isolated
-- lanes are not among them.
CREATE FUNCTION claim_order(of_queue bigint)
RETURNS TABLE (lane_id bigint, catalog_id bigint, catalogs_left int, rank smallint,
               origin_id bigint, is_guarded boolean, level int) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE waiting AS (
        (SELECT l.catalog_id FROM lane l
         WHERE l.queue_id = of_queue AND l.ready_since IS NOT NULL
         ORDER BY l.catalog_id LIMIT 1)
        UNION ALL
        SELECT n.catalog_id FROM waiting w CROSS JOIN LATERAL (
            SELECT l.catalog_id FROM lane l
            WHERE l.queue_id = of_queue AND l.ready_since IS NOT NULL
              AND l.catalog_id > w.catalog_id
            ORDER BY l.catalog_id LIMIT 1
        ) AS n
    ), lanes AS (
        SELECT l.id, l.catalog_id, l.rank, l.origin_id, l.is_guarded, r.jobs,
               floor(b.base + (9 - b.base) * b.used
                     + extract(epoch FROM now() - greatest(l.ready_since, r.granted_at)) / 60
               )::int AS level
        FROM waiting w
        JOIN catalog c ON c.id = w.catalog_id
        CROSS JOIN LATERAL (
            SELECT i.*, i.origin_id <> 0 AND (o.breaker IN ('open', 'halfOpen')
                   OR CASE WHEN o.has_own_limits THEN coalesce(o.max_connections::float8,
                               o.requests_per_second, o.bytes_per_second) IS NOT NULL
                           ELSE d.is_limited END) AS is_guarded
            FROM lane i JOIN origin o ON o.id = i.origin_id
            CROSS JOIN (SELECT coalesce(max_connections::float8, requests_per_second,
                                        bytes_per_second) IS NOT NULL AS is_limited
                        FROM origin WHERE id = 0) AS d
            WHERE i.queue_id = of_queue AND i.catalog_id = w.catalog_id
              AND i.ready_since IS NOT NULL AND i.rank < 4
              AND (o.cooldown_until IS NULL OR o.cooldown_until <= now())
            ORDER BY i.rank, i.id LIMIT 64
        ) AS l
        CROSS JOIN LATERAL (
            SELECT CASE WHEN l.own_priority < 0 THEN c.priority ELSE l.own_priority END AS base,
                   CASE WHEN c.deadline IS NULL OR c.started_at IS NULL THEN 0
                        WHEN c.deadline <= now() THEN 1
                        ELSE extract(epoch FROM now() - c.started_at)
                             / extract(epoch FROM c.deadline - c.started_at) END AS used
        ) AS b
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(s.jobs) FILTER (WHERE s.granted_at > now() - interval '10 s'), 0)
                       AS jobs,
                   max(s.granted_at) AS granted_at
            FROM (SELECT jobs, granted_at FROM span WHERE span.lane_id = l.id
                  ORDER BY last_id DESC LIMIT 10) AS s
        ) AS r
        WHERE c.not_before IS NULL OR c.not_before <= now()
    ), shared AS (
        SELECT *, sum(jobs) OVER (PARTITION BY lanes.catalog_id) AS granted FROM lanes
    )
    SELECT id, shared.catalog_id,
           (dense_rank() OVER (PARTITION BY level
                               ORDER BY granted DESC, shared.catalog_id DESC))::int,
           shared.rank, shared.origin_id, shared.is_guarded, shared.level
    FROM shared
    ORDER BY level DESC, granted, shared.catalog_id, shared.rank, jobs, id
    LIMIT 256
$$;

-- The isolated lanes of a queue that may be claimed from now, those that wait longest first.
CREATE FUNCTION isolated_lanes(of_queue bigint)
RETURNS TABLE (lane_id bigint, origin_id bigint, is_guarded boolean) LANGUAGE sql STABLE AS $$
    SELECT l.id, o.id,
           o.id <> 0 AND (o.breaker IN ('open', 'halfOpen') OR EXISTS (
               SELECT FROM origin_limit m WHERE m.id = o.id
               AND coalesce(m.connections::float8, m.requests_per_second, m.bytes_per_second)
                   IS NOT NULL))
    FROM lane l
    CROSS JOIN LATERAL (SELECT * FROM origin WHERE id = l.origin_id OFFSET 0) AS o
    CROSS JOIN LATERAL (SELECT not_before FROM catalog WHERE id = l.catalog_id OFFSET 0) AS c
    WHERE l.queue_id = of_queue AND l.rank = 4 AND l.ready_since IS NOT NULL
      AND (o.cooldown_until IS NULL OR o.cooldown_until <= now())
      AND (c.not_before IS NULL OR c.not_before <= now())
    ORDER BY l.ready_since, l.id LIMIT 64
$$;

-- Whether a worker holds jobs; or one that is to be tried alone, for a minute: what takes longer
-- does not keep its worker from other work.
CREATE FUNCTION holds_jobs(by_worker uuid, isolated_only boolean) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM lease e
        CROSS JOIN LATERAL (SELECT * FROM span WHERE lease_id = e.id OFFSET 0) AS p
        CROSS JOIN LATERAL (
            SELECT FROM job
            WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id LIMIT 1
        ) AS j
        WHERE e.worker_id = by_worker
          AND (NOT isolated_only OR e.isolated AND e.granted_at > now() - interval '1 minute'))
$$;

-- Jobs of an origin that a worker holds.
CREATE FUNCTION jobs_held(of_origin bigint, by_worker uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(*)
    FROM lease e
    JOIN span p ON p.lease_id = e.id
    JOIN lane l ON l.id = p.lane_id AND l.origin_id = of_origin
    CROSS JOIN LATERAL (
        SELECT FROM job WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id OFFSET 0
    ) AS j
    WHERE e.worker_id = by_worker
$$;

-- How many more jobs of an origin that has limits, or whose breaker is not closed, a worker may claim now. Locks
-- the origin's row. A worker without a quota of it gets an empty one with its first jobs, as long as there is a
-- connection and a request a second for each; otherwise it gets none of the origin's jobs.
CREATE FUNCTION origin_allowance(of_origin bigint, of_worker uuid, seconds float8) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    o record;
    most record;
    max_users bigint;
    users bigint;
    is_user boolean;
    under_way bigint;
    is_limited boolean;
BEGIN
    SELECT breaker, cooldown_until INTO o FROM origin WHERE id = of_origin FOR UPDATE;
    IF o.cooldown_until > now() THEN RETURN 0; END IF;
    SELECT * INTO most FROM origin_limit WHERE id = of_origin;
    is_limited := coalesce(most.connections::float8, most.requests_per_second, most.bytes_per_second) IS NOT NULL;
    IF is_limited THEN
        max_users := least(most.connections, CASE WHEN most.requests_per_second IS NOT NULL
                                             THEN greatest(floor(most.requests_per_second), 1) END);
        SELECT count(*), coalesce(bool_or(worker_id = of_worker), false),
               coalesce(sum(active) FILTER (WHERE worker_id = of_worker), 0)
        INTO users, is_user, under_way FROM quota
        WHERE kind = 'origin' AND resource_id = of_origin AND ends_at > clock_timestamp();
        IF NOT is_user THEN
            IF users >= max_users THEN RETURN 0; END IF;
            INSERT INTO quota AS q (kind, resource_id, worker_id, number, since, ends_at,
                                    connections, requests, bytes, held_connections, held_requests, held_bytes)
            SELECT 'origin', of_origin, of_worker, n, n, clock_timestamp() + make_interval(secs => seconds),
                   0, 0, 0, 0, 0, 0
            FROM nextval('quota_number') AS n
            -- One that has ended still counts for a moment with what it held.
            ON CONFLICT (kind, resource_id, worker_id) DO UPDATE
            SET number = excluded.number, since = excluded.since, ends_at = excluded.ends_at,
                connections = 0, requests = 0, bytes = 0, active = 0;
            users := users + 1;
        END IF;
    END IF;
    IF o.breaker IN ('open', 'halfOpen') THEN
        -- One job tries whether the origin is well again; the others wait for what becomes of it.
        UPDATE origin SET breaker = 'halfOpen',
            cooldown_until = now() + make_interval(secs => seconds)
        WHERE id = of_origin;
        INSERT INTO origin_decision (origin_id, decision) VALUES (of_origin, 'halfOpen');
        RETURN 1;
    END IF;
    IF NOT is_limited THEN RETURN 1000; END IF;
    -- Few more than are under way and can begin soon: others may do them sooner.
    RETURN greatest(least(coalesce(8 * ceil(most.connections::float8 / users)::bigint, 1000),
                          coalesce(ceil(2 * most.requests_per_second / users)::bigint + under_way, 1000), 1000)
                    - jobs_held(of_origin, of_worker), 0);
END $$;

-- Grants one isolated job to a lease, of lanes that no other claim has locked. Answers whether there was one,
-- and whether an origin's row is locked now.
CREATE FUNCTION claim_isolated(of_queue bigint, to_lease uuid, of_worker uuid, seconds float8,
                               OUT is_granted boolean, OUT is_guarded boolean)
LANGUAGE plpgsql AS $$
DECLARE
    l record;
BEGIN
    is_granted := false;
    is_guarded := false;
    FOR l IN SELECT * FROM isolated_lanes(of_queue) LOOP
        PERFORM FROM lane WHERE id = l.lane_id FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        IF l.is_guarded THEN
            is_guarded := true;
            CONTINUE WHEN origin_allowance(l.origin_id, of_worker, seconds) = 0;
        END IF;
        INSERT INTO span (lane_id, first_id, last_id, lease_id, jobs)
        SELECT l.lane_id, id, id, to_lease, 1 FROM job
        WHERE lane_id = l.lane_id AND id > coalesce(
            (SELECT last_id FROM span WHERE lane_id = l.lane_id ORDER BY last_id DESC LIMIT 1), 0)
        ORDER BY id LIMIT 1;
        is_granted := FOUND;
        EXIT WHEN is_granted;
        UPDATE lane SET ready_since = NULL WHERE id = l.lane_id;
    END LOOP;
    IF is_granted THEN UPDATE lease SET isolated = true WHERE id = to_lease; END IF;
END $$;

-- Claims jobs of a queue for some workers at once: pairwise a new lease, its worker and the maximum of jobs.
--
-- Catalogs of one level share the jobs of a lease; the next level gets the rest. A lane that another claim has locked
-- is skipped; only a claim for one lease waits for it, when nothing else is found. A lease that exists already, because
-- it was released before it was granted, gets nothing. The slow origins of a lease's worker come pairwise with the
-- index of the lease and the maximum of jobs that it gets of them.
--
-- While isolated jobs wait, about every fourth minute of each worker is for them: it gets nothing else then. A worker
-- that got none has to ask again soon: the end of another job, its own too, may let it try one, and nothing notifies
-- of that.
--
-- is_known: the queue exists. is_guarded: an origin with limits was among the lanes. is_worth_another: a lease got
-- nothing because lanes were locked or an origin has limits. granted: leases that got jobs. alone: indexes of those
-- that hold an isolated job. is_isolating: isolated jobs wait.
CREATE FUNCTION claim_jobs(of_queue bigint, to_leases uuid[], of_workers uuid[], mosts int[],
                           seconds float8, slow_places int[] DEFAULT '{}',
                           slow_names text[] DEFAULT '{}', slow_mosts int[] DEFAULT '{}',
                           OUT is_known boolean, OUT is_guarded boolean,
                           OUT is_worth_another boolean, OUT granted int,
                           OUT alone bigint[], OUT is_isolating boolean)
LANGUAGE plpgsql AS $$
DECLARE
    lanes bigint[];
    catalogs bigint[];
    lefts int[];
    ranks smallint[];
    origins bigint[];
    guarded boolean[];
    most int;
    remaining int;
    quota int;
    want int;
    got int;
    allowance int;
    passed_over boolean;
    is_open boolean[];
    levels int[];
    -- Where the lanes of the same catalog, rank and level begin that lane i is among, and how many
    -- they are.
    firsts int[];
    counts int[];
    i int;
    is_active boolean;
    is_due boolean;
    is_ready boolean;
    setting text;
    is_ours boolean;
    holds_guarded boolean;
    has_waited boolean;
    -- Some worker tries a job alone.
    is_alone boolean;
    is_idle boolean := false;
    is_turn boolean := false;
    trial record;
    got_isolated boolean;
    -- Of the lease: its slow origins, and how many jobs of them it may still get.
    slow bigint[];
    slow_left int;
BEGIN
    is_guarded := false;
    is_worth_another := false;
    granted := 0;
    alone := '{}';
    -- What a claim costs is mostly its statements: one looks at all that may end it early.
    SELECT q.state <> 'paused' AND NOT t.closed,
           EXISTS (SELECT FROM delayed_job WHERE queue_id = of_queue AND available_at <= now()),
           EXISTS (SELECT FROM lane WHERE queue_id = of_queue AND ready_since IS NOT NULL),
           EXISTS (SELECT FROM lane
                   WHERE queue_id = of_queue AND rank = 4 AND ready_since IS NOT NULL),
           EXISTS (SELECT FROM lease WHERE isolated)
    INTO is_active, is_due, is_ready, is_isolating, is_alone
    FROM queue q JOIN site t ON t.id = q.site_id WHERE q.id = of_queue;
    is_known := FOUND;
    IF is_active IS NOT TRUE OR NOT (is_due OR is_ready) THEN RETURN; END IF;
    -- A claim that a crash of the server takes back is a lease that was lost: nothing to wait for the
    -- disk for.
    setting := set_config('synchronous_commit', 'off', true);
    IF is_due THEN
        -- Their lanes may be those of a catalog that is being started: then another time.
        BEGIN
            setting := set_config('lock_timeout', '500ms', true);
            PERFORM promote_jobs(of_queue);
            setting := set_config('lock_timeout', '0', true);
        EXCEPTION WHEN lock_not_available THEN
            NULL;
        END;
        is_isolating := EXISTS (SELECT FROM lane
                                WHERE queue_id = of_queue AND rank = 4 AND ready_since IS NOT NULL);
    END IF;
    is_isolating := is_isolating AND EXISTS (SELECT FROM isolated_lanes(of_queue));
    -- One order for all: what these claims themselves change of it is in `is_open`.
    SELECT array_agg(o.lane_id), array_agg(o.catalog_id), array_agg(o.catalogs_left),
           array_agg(o.rank), array_agg(o.origin_id), array_agg(o.is_guarded), array_agg(o.level), array_agg(true)
    INTO lanes, catalogs, lefts, ranks, origins, guarded, levels, is_open
    FROM claim_order(of_queue) AS o;
    IF lanes IS NULL THEN
        IF NOT is_isolating THEN RETURN; END IF;
        SELECT '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'
        INTO lanes, catalogs, lefts, ranks, origins, guarded, levels, is_open;
    END IF;
    is_guarded := true = ANY(guarded);
    firsts := ARRAY[1];
    FOR i IN 2..cardinality(lanes) LOOP
        firsts[i] := CASE WHEN (catalogs[i], ranks[i], levels[i])
                               = (catalogs[i - 1], ranks[i - 1], levels[i - 1])
                          THEN firsts[i - 1] ELSE i END;
    END LOOP;
    FOR i IN REVERSE cardinality(lanes)..1 LOOP
        counts[i] := CASE WHEN i < cardinality(lanes) AND firsts[i + 1] = firsts[i]
                          THEN counts[i + 1] ELSE i - firsts[i] + 1 END;
    END LOOP;
    FOR n IN 1..cardinality(to_leases) LOOP
        EXIT WHEN NOT is_isolating AND NOT true = ANY(is_open);
        CONTINUE WHEN is_alone AND holds_jobs(of_workers[n], true);
        IF is_isolating THEN
            is_idle := NOT holds_jobs(of_workers[n], false);
            is_turn := hashtextextended(
                of_workers[n]::text, floor(extract(epoch FROM now()) / 60)::bigint) & 3 = 0;
            CONTINUE WHEN is_turn AND NOT is_idle;
        END IF;
        INSERT INTO lease (id, worker_id, expires_at)
        VALUES (to_leases[n], of_workers[n], now() + make_interval(secs => seconds))
        ON CONFLICT DO NOTHING;
        CONTINUE WHEN NOT FOUND;
        most := mosts[n];
        remaining := most;
        passed_over := false;
        holds_guarded := false;
        has_waited := false;
        got_isolated := false;
        slow := NULL;
        IF cardinality(slow_names) > 0 THEN
            SELECT array_agg(o.id) INTO slow
            FROM unnest(slow_places, slow_names) AS u (place, name)
            CROSS JOIN LATERAL (SELECT id FROM origin WHERE url = u.name OFFSET 0) AS o
            WHERE u.place = n;
            slow_left := slow_mosts[n];
        END IF;
        IF is_isolating AND is_turn THEN
            SELECT * INTO trial
            FROM claim_isolated(of_queue, to_leases[n], of_workers[n], seconds);
            got_isolated := trial.is_granted;
            is_guarded := is_guarded OR trial.is_guarded;
        END IF;
        -- First a fair share each, then whatever is left, last of all what another claim is busy
        -- with.
        FOR pass IN 1..3 LOOP
            EXIT WHEN remaining = 0 OR got_isolated;
            EXIT WHEN pass = 3
                -- Nobody waits who has locked an origin: somebody else's wait may be for that.
                AND (remaining < most OR NOT passed_over OR holds_guarded
                     OR cardinality(to_leases) > 1);
            quota := remaining;
            FOR place IN 1..cardinality(lanes) LOOP
                EXIT WHEN remaining = 0 OR (pass = 3 AND (remaining < most OR has_waited));
                IF pass = 1 AND (place = 1 OR catalogs[place] <> catalogs[place - 1]) THEN
                    quota := ceil(remaining::float8 / lefts[place]);
                END IF;
                -- Each lease begins at another one of lanes that are equal.
                i := firsts[place] + (place - firsts[place] + n - 1) % counts[place];
                want := least(quota, remaining);
                -- A manifest becomes many jobs: a tenth of what is claimed, unless there is nothing
                -- else.
                IF pass = 1 AND ranks[i] = 2 THEN
                    want := least(want, greatest(most / 10, 1));
                END IF;
                IF slow IS NOT NULL AND origins[i] = ANY (slow) THEN
                    want := least(want, slow_left);
                END IF;
                CONTINUE WHEN want = 0 OR NOT is_open[i];
                IF pass < 3 THEN
                    PERFORM FROM lane WHERE id = lanes[i] FOR UPDATE SKIP LOCKED;
                    is_ours := FOUND;
                ELSE
                    -- Another claim is done in no time. A catalog that is being started is not, and
                    -- says so when it is.
                    has_waited := true;
                    BEGIN
                        setting := set_config('lock_timeout', '500ms', true);
                        PERFORM FROM lane WHERE id = lanes[i] FOR UPDATE;
                        is_ours := FOUND;
                        setting := set_config('lock_timeout', '0', true);
                    EXCEPTION WHEN lock_not_available THEN
                        is_ours := false;
                    END;
                END IF;
                IF NOT is_ours THEN
                    passed_over := true;
                    CONTINUE;
                END IF;
                IF guarded[i] THEN
                    holds_guarded := true;
                    allowance := origin_allowance(origins[i], of_workers[n], seconds);
                    is_open[i] := allowance > want;
                    want := least(want, allowance);
                    CONTINUE WHEN want = 0;
                END IF;
                -- By a statement after the one that locks, which sees what was claimed before. Jobs
                -- behind the last span are free; the span takes some of them all at once.
                INSERT INTO span (lane_id, first_id, last_id, lease_id, jobs)
                SELECT lanes[i], min(j.id), max(j.id), to_leases[n], count(*)
                FROM (SELECT id FROM job
                      WHERE lane_id = lanes[i] AND id > coalesce(
                          (SELECT last_id FROM span WHERE lane_id = lanes[i]
                           ORDER BY last_id DESC LIMIT 1), 0)
                      ORDER BY id LIMIT want) AS j
                HAVING count(*) > 0
                RETURNING jobs INTO got;
                got := coalesce(got, 0);
                IF got < want THEN
                    UPDATE lane SET ready_since = NULL WHERE id = lanes[i];
                END IF;
                is_open[i] := is_open[i] AND got = want;
                remaining := remaining - got;
                IF slow IS NOT NULL AND origins[i] = ANY (slow) THEN
                    slow_left := slow_left - got;
                END IF;
                IF pass = 1 THEN quota := quota - got; ELSE quota := remaining; END IF;
            END LOOP;
        END LOOP;
        IF is_isolating AND is_idle AND NOT is_turn AND remaining = most THEN
            SELECT * INTO trial
            FROM claim_isolated(of_queue, to_leases[n], of_workers[n], seconds);
            got_isolated := trial.is_granted;
            is_guarded := is_guarded OR trial.is_guarded;
        END IF;
        IF got_isolated THEN
            alone := alone || n::bigint;
            granted := granted + 1;
        ELSIF remaining = most THEN
            DELETE FROM lease WHERE id = to_leases[n];
            is_worth_another := is_worth_another OR passed_over;
        ELSE
            granted := granted + 1;
        END IF;
        -- Claims that lock origins' rows lock those of one lease, so that they do not wait for each other
        -- in a circle.
        IF is_guarded AND n < cardinality(to_leases) THEN
            is_worth_another := true;
            EXIT;
        END IF;
    END LOOP;
END $$;

-- The roots of the workers that are alive, when none of these may write to the site, and whether a symlink leads out of
-- them; no row when one may, or there is none. A site is within a root as `StorageURL.isSite` has it.
CREATE FUNCTION outside_roots(of_site bigint) RETURNS TABLE (roots text, has_symlink boolean)
LANGUAGE sql STABLE AS $$
    SELECT left(string_agg(DISTINCT array_to_string(w.roots, ', '), ', '), 250), bool_or(n.is_within)
    FROM site t
    JOIN worker w ON w.last_seen > now() - interval '60 seconds'
    CROSS JOIN LATERAL (
        SELECT w.roots IS NULL
               OR EXISTS (SELECT FROM unnest(w.roots) AS r
                          WHERE t.storage_url = r OR starts_with(t.storage_url, r || '/')) AS is_within
    ) AS n
    WHERE t.id = of_site
    GROUP BY t.id
    HAVING NOT bool_or(n.is_within AND t.id <> ALL (w.refused_sites))
$$;
