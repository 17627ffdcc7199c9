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
    machine text,
    -- The last event that was deleted, in the order of events: what is after it is there.
    trimmed_xact xid8 NOT NULL DEFAULT '0',
    trimmed_event bigint NOT NULL DEFAULT 0
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
    -- The most that its catalogs may have stored there.
    quota_bytes bigint CHECK (quota_bytes > 0),
    -- Bytes that records of its files have more than once, because several assets share a file, as last counted; what
    -- the catalogs recorded then, as a hash of their sums, null if it is to be counted again; and when it may be next.
    shared_bytes bigint NOT NULL DEFAULT 0,
    shared_of bigint,
    shared_due_at timestamptz NOT NULL DEFAULT now(),
    -- Rights of assets that are submitted from now on: nothing of them is fetched before, their files are deleted then,
    -- and the longest time for which a completed asset is kept.
    not_before timestamptz,
    expires_at timestamptz,
    keep_seconds float8 CHECK (keep_seconds > 0),
    CHECK (expires_at > not_before),
    -- At most so many fetches of a title within so many seconds, and at most so many sites that have it.
    max_fetches int CHECK (max_fetches > 0),
    fetch_seconds float8 CHECK (fetch_seconds > 0),
    max_sites int CHECK (max_sites > 0),
    CHECK ((max_fetches IS NULL) = (fetch_seconds IS NULL)),
    -- Which assets are removed first where room is needed.
    evict text NOT NULL DEFAULT 'off' CHECK (evict IN ('off', 'leastRecentlyWanted', 'leastPopular')),
    -- True until workers have deleted what was evicted; and when the last eviction began or ended. Nothing was found to
    -- evict before the next try.
    is_evicting boolean NOT NULL DEFAULT false,
    -- Until then a coordinator may still be removing assets; null once it has ended.
    evicting_until timestamptz,
    evicted_at timestamptz,
    evict_retry_at timestamptz,
    -- Bytes that its workers had under way when they last reported; only for a site with a quota.
    under_way_bytes bigint NOT NULL DEFAULT 0,
    -- Free bytes that a worker last found on its file system, and when.
    available_bytes bigint,
    seen_at timestamptz,
    -- Identifies the volume that the directory is on, by the mark that a worker found or made there; null until then.
    volume_id uuid,
    -- The file system that it was last found on; null where that has no identity.
    volume_file_system text,
    -- Reason why nothing can be written there now.
    fault_code text,
    fault_message text,
    -- When it began; kept after its end, until the next one.
    fault_since timestamptz,
    -- When a worker tries again whether the site can be written; null while one does.
    fault_retry_at timestamptz,
    -- Number of times in a row that it was paused, or a worker asked to probe it: the time between tries follows from
    -- that.
    fault_tries int NOT NULL DEFAULT 0,
    -- While workers try again: when one is asked to probe it next, because no job has tried; and which were asked since
    -- each has had its turn.
    fault_probe_at timestamptz,
    fault_probed_by uuid[] NOT NULL DEFAULT '{}',
    -- When it could be written again.
    fault_ended_at timestamptz,
    -- Interval between audits; null for never.
    audit_seconds int CHECK (audit_seconds > 0),
    audit_deep boolean NOT NULL DEFAULT false,
    audit_repairs boolean NOT NULL DEFAULT false,
    -- The URL under which a web server serves its files by their keys, and the origin of that; null for none.
    serves_url text,
    serves_origin_id bigint,
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
    -- Number of times that the breaker opened since the last success.
    openings int NOT NULL DEFAULT 0,
    -- A list, a manifest or an operator names it. Others are kept for what they did, until that is over.
    is_listed boolean NOT NULL DEFAULT true,
    -- When it last did something to remember; of those that no list names.
    noted_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX origin_by_cooldown ON origin (cooldown_until) WHERE cooldown_until IS NOT NULL;
CREATE INDEX origin_by_id_unlisted ON origin (id) WHERE NOT is_listed;
-- Those that have limits of their own.
CREATE INDEX origin_by_id_limited ON origin (id)
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

-- Decisions about an origin, and their reasons; pruned to the latest of each.
CREATE TABLE origin_decision (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    origin_id bigint NOT NULL,
    -- Null for what the cluster decided.
    worker_id uuid,
    decided_at timestamptz NOT NULL DEFAULT now(),
    decision text NOT NULL,
    -- A worker's text; clients word the cluster's own decisions, by the numbers below.
    reason text,
    concurrency int,
    bytes_per_second bigint,
    -- The failure that led to it, how many there were in a row, after how many openings of the circuit breaker, and
    -- how long a cooldown lasts.
    code text,
    failures int,
    openings int,
    seconds float8,
    CHECK ((worker_id IS NULL) = (reason IS NULL))
);
CREATE INDEX origin_decision_by_origin ON origin_decision (origin_id, id);

-- MARK: Catalogs and assets

CREATE SEQUENCE run_number;

CREATE TABLE catalog (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site_id bigint NOT NULL REFERENCES site,
    queue_id bigint NOT NULL REFERENCES queue,
    name text NOT NULL,
    priority smallint NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 9),
    not_before timestamptz,
    -- Rights of all of its assets.
    expires_at timestamptz,
    keep_seconds float8 CHECK (keep_seconds > 0),
    max_fetches int CHECK (max_fetches > 0),
    fetch_seconds float8 CHECK (fetch_seconds > 0),
    max_sites int CHECK (max_sites > 0),
    -- Deadlines of the submission that was last started, and of the one last opened.
    deadline timestamptz,
    opened_deadline timestamptz,
    -- Interval between checks of its files at the origins, and the next one; null for never.
    refresh_seconds float8 CHECK (refresh_seconds > 0),
    refresh_at timestamptz,
    -- For assets whose list states no time; like `asset.refresh_seconds` and `refresh_by_origin`.
    asset_refresh_seconds float8 CHECK (asset_refresh_seconds > 0),
    asset_refresh_by_origin boolean NOT NULL DEFAULT false,
    -- Selection of its titles' tracks, as JSON; null for all of it.
    title_options text,
    -- Which query parameters belong to keys, by origin: of each origin, '' for all others, the regular expressions of
    -- those that are kept and of those that are left out. Null where their names tell.
    key_queries jsonb,
    -- Some of its assets have had mirrors: a claim looks for them only then.
    has_mirrors boolean NOT NULL DEFAULT false,
    -- It has had neighbours: its assets wait for those, and a claim looks for their files only then.
    has_neighbours boolean NOT NULL DEFAULT false,
    -- It has taken files over that were to be deleted: they are held back with its assets until these store them.
    has_taken_files boolean NOT NULL DEFAULT false,
    -- Sites that the submission last opened has as neighbours, in order, from its start on.
    opened_neighbours bigint[] NOT NULL DEFAULT '{}',
    -- Counts submissions: the one last opened, and the one last started. Assets of an earlier one that were not named
    -- again stay out.
    opened_generation int NOT NULL DEFAULT 1,
    generation int NOT NULL DEFAULT 0,
    -- Number of its starts. Before the second one nothing of it was stored, and jobs need not look for it.
    starts int NOT NULL DEFAULT 0,
    -- Number of its present or last run: from a start of what had ended to the end.
    run_id bigint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'open'
        CHECK (state IN ('open', 'running', 'interrupted', 'completed', 'failed', 'cancelled', 'removed')),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When a submission to it was last opened: from then on it is not forgotten for some time.
    opened_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    ended_at timestamptz,
    -- The trace context of the request that opened the last submission (W3C Trace Context).
    traceparent text CHECK (traceparent ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'),
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
    -- Bytes of all that lies at the site by its records, whatever its present run has checked of them: stored results,
    -- of its former assets too, files that are put aside and those that are to be deleted. Without what is in `tally`.
    stored_bytes bigint NOT NULL DEFAULT 0,
    -- Directories whose SHA256SUMS is still to be written; the catalog ends after the last.
    checksums_outstanding bigint NOT NULL DEFAULT 0,
    checksums_failed bigint NOT NULL DEFAULT 0,
    -- Files and bytes that workers deleted since its files were last removed.
    freed_files bigint NOT NULL DEFAULT 0,
    freed_bytes bigint NOT NULL DEFAULT 0,
    -- Two samples of these, 30 to 120 seconds apart: {seconds since 1970, segments that ended, bytes fetched} of the
    -- first one, then of the second. Null before the first one.
    pace float8[],
    UNIQUE (site_id, name)
) WITH (fillfactor = 50);
CREATE INDEX catalog_by_refresh ON catalog (refresh_at) WHERE refresh_at IS NOT NULL;

-- A list at a URL that workers read again and again, and submit to its catalog.
CREATE TABLE source (
    catalog_id bigint PRIMARY KEY REFERENCES catalog ON DELETE CASCADE,
    url text NOT NULL,
    -- Null to detect it.
    format text,
    every_seconds float8 NOT NULL CHECK (every_seconds > 0),
    -- Removes files that the list no longer names.
    prunes boolean NOT NULL,
    -- A list that drops more of the catalog's assets is refused.
    max_drop_percent smallint NOT NULL CHECK (max_drop_percent BETWEEN 0 AND 100),
    next_at timestamptz NOT NULL,
    -- A reading was requested during another one, and follows it.
    reads_again boolean NOT NULL DEFAULT false,
    -- Who reads it, and until when; the names stay.
    worker_id uuid,
    worker_name text,
    lease_id uuid,
    expires_at timestamptz,
    -- The submission that a lease has opened last.
    opened_by uuid,
    opened_generation int,
    -- Facts about the list that was last applied.
    validator text,
    sha256 text,
    assets bigint,
    added bigint,
    dropped bigint,
    applied_at timestamptz,
    -- The last reading.
    read_at timestamptz,
    result text CHECK (result IN ('applied', 'unchanged', 'failed')),
    failure_code text,
    failure_message text,
    failures int NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX source_by_time ON source (next_at);

-- Parts of a list that the holder of a source's lease has sent, as JSON: merged into the catalog once the list is
-- whole.
CREATE TABLE source_batch (
    catalog_id bigint NOT NULL REFERENCES source ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    assets text NOT NULL,
    PRIMARY KEY (catalog_id, id)
);

-- Other sites whose catalogs of the same name have the files of a catalog: it gets them from there, and from their
-- origins only what none of these has.
CREATE TABLE neighbour (
    catalog_id bigint NOT NULL REFERENCES catalog ON DELETE CASCADE,
    -- The order in which they are asked.
    place int NOT NULL CHECK (place >= 0),
    site_id bigint NOT NULL REFERENCES site,
    -- When a worker last held jobs of the catalog there.
    active_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (catalog_id, place),
    UNIQUE (catalog_id, site_id)
);

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
    checksum_state text CHECK (checksum_state IN ('due', 'read', 'written')),
    -- The checksum file that was last written there.
    checksum_bytes bigint,
    checksum_sha256 text,
    UNIQUE (catalog_id, path)
) WITH (fillfactor = 70);
-- The lines of one SHA256SUMS are read catalog by catalog.
CREATE INDEX directory_by_path ON directory (site_id, path, id);
CREATE INDEX directory_by_path_unwritten ON directory (site_id, path) WHERE checksum_state IN ('due', 'read');

CREATE TABLE asset (
    -- In the order of what PostgreSQL does with a row: it is read up to the last column that a statement names, columns are
    -- found at once only behind those that have a fixed length and are never null, and what an update changes is logged
    -- from the first to the last changed byte.
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    catalog_id bigint NOT NULL,
    directory_id bigint NOT NULL,
    origin_id bigint NOT NULL,
    -- Bytes that workers had under way of it when it was paused last.
    paused_received_bytes bigint NOT NULL DEFAULT 0,
    paused_expected_bytes bigint NOT NULL DEFAULT 0,
    paused_transfers bigint NOT NULL DEFAULT 0,
    -- When it was last submitted, or refreshed.
    wanted_at timestamptz NOT NULL DEFAULT now(),
    generation int NOT NULL,
    -- The submission whose list named it last; a removal counts it to a later one.
    listed_generation int NOT NULL,
    -- Starts of the catalog before it was added, or named again after a start had left it out: until the next one the
    -- catalog's counts do not have it.
    added_starts int NOT NULL DEFAULT 0,
    verifies int NOT NULL DEFAULT 0,
    verifies_done int NOT NULL DEFAULT 0,
    verifies_failed int NOT NULL DEFAULT 0,
    -- While its manifest is read again (`renewing_since`): how many segments were stored when that was last queued, and how
    -- often in a row it was without another one stored since.
    renewed_done int NOT NULL DEFAULT 0,
    renewals smallint NOT NULL DEFAULT 0,
    -- Named again with another URL, kind, key or digest; what was known of it is dropped at the start.
    redefined boolean NOT NULL DEFAULT false,
    -- Submitted again with another signature; what is not stored gets it with the next start.
    url_changed boolean NOT NULL DEFAULT false,
    -- Since its last start: named with other sidecars, which leaves its own segments as they are.
    sidecars_changed boolean NOT NULL DEFAULT false,
    -- Nothing is fetched of it, because its key holds another object.
    key_taken boolean NOT NULL DEFAULT false,
    -- Its fetches wait, in the same lanes as paused ones, until a neighbour has stored it or will not.
    awaits_neighbour boolean NOT NULL DEFAULT false,
    -- Its jobs wait, in lanes of their own, until it is resumed or has ended.
    is_paused boolean NOT NULL DEFAULT false,
    -- Its jobs wait, in lanes of their own, for `not_before`.
    is_waiting boolean NOT NULL DEFAULT false,
    -- Its fetch is in `title_fetch`.
    is_fetch_counted boolean NOT NULL DEFAULT false,
    -- It is not evicted.
    is_pinned boolean NOT NULL DEFAULT false,
    -- Its origin says when it is checked: `refresh_seconds` is only for responses that state no time.
    refresh_by_origin boolean NOT NULL DEFAULT false,
    -- For indexes, which must not name what each fetch changes: every index of the table would be written with each
    -- state. True while its files are being deleted; and where nothing of it is stored any more, or its time had
    -- passed before anything was.
    is_purging boolean NOT NULL DEFAULT false,
    is_cleared boolean NOT NULL DEFAULT false,
    -- Its segments are all known: from the start for a file, by its manifest for the others.
    resolved boolean NOT NULL DEFAULT false,
    -- A rendition of it that cannot be fetched is left out: it does not end while segments of it have failed, but has
    -- its manifest resolved again.
    may_lack boolean NOT NULL DEFAULT false,
    bytes bigint NOT NULL DEFAULT 0,
    adopted_bytes bigint NOT NULL DEFAULT 0,
    changed_at timestamptz NOT NULL DEFAULT now(),
    segments int NOT NULL DEFAULT 0,
    segments_done int NOT NULL DEFAULT 0,
    segments_failed int NOT NULL DEFAULT 0,
    retries int NOT NULL DEFAULT 0,
    completed_at timestamptz,
    state text NOT NULL DEFAULT 'new'
        CHECK (state IN ('new', 'resolving', 'ready', 'inProgress', 'verifying', 'completed',
                         'refreshing', 'publishing', 'interrupted', 'failed', 'cancelled',
                         'removing', 'removed', 'expiring', 'expired')),
    kind text NOT NULL CHECK (kind IN ('file', 'hls', 'dash')),
    name text NOT NULL,
    url text NOT NULL,
    key text NOT NULL,
    expected_bytes bigint CHECK (expected_bytes >= 0),
    expected_sha256 text,
    -- Others that a list names: crc32c=…,md5=… in hex digits.
    expected_digests text,
    -- Its own, before its catalog's.
    priority smallint CHECK (priority BETWEEN 0 AND 9),
    -- The asset of another site from which its files are fetched; null for none.
    neighbour_id bigint,
    -- Files that belong to it: a poster, subtitles. Those that are not required may fail without it.
    -- [{"url", "key", "origin", "role", "required", "bytes", "sha256", "digests"}, …]
    sidecars jsonb,
    failure_code text,
    -- Or its facts as JSON, of which readers compose it: see `RecordedMessage`.
    failure_message text,
    -- Rules that its manifests break, as JSON; null for none.
    warnings text,
    -- Renditions that are left out, each with a file that cannot be fetched; null for none.
    -- [{"kind", "name", "key", "code", "message"}, …], without kind and name until the manifest is resolved again.
    left_out jsonb,
    -- The outcome of its last refresh; null before one.
    refreshed text CHECK (refreshed IN ('unchanged', 'changed', 'failed')),
    -- Since when its manifest is read again for fresh URLs in place of expired ones.
    renewing_since timestamptz,
    -- Nothing of it is leased before; the later one of its own and its site's.
    not_before timestamptz,
    -- Its files are deleted then; the earliest one of its own, its catalog's and its site's.
    expires_at timestamptz,
    -- For so long it is kept once it is complete (`completed_at`), the shortest time of its own, its catalog's and its
    -- site's; and until when, once it is.
    keep_seconds float8 CHECK (keep_seconds > 0),
    kept_until timestamptz,
    -- The licence that counts its fetches and its sites, or its URL without the query; null where nothing limits them.
    title text,
    -- Each of its own, its catalog's and its site's: at most so many fetches within so many seconds; and the smallest
    -- number of sites.
    max_fetches int[],
    fetch_seconds float8[],
    max_sites int CHECK (max_sites > 0),
    -- So long after it was submitted or refreshed its files are checked at their origins; when next; and when its list says
    -- that it was changed last.
    refresh_seconds float8 CHECK (refresh_seconds > 0),
    refresh_at timestamptz,
    modified_at timestamptz,
    -- Files and bytes that workers have deleted of an asset that is removed or has expired.
    freed_files int,
    freed_bytes bigint,
    UNIQUE (catalog_id, name),
    CHECK (segments_done + segments_failed <= segments),
    CHECK (verifies_done + verifies_failed <= verifies),
    CHECK (state <> 'completed' OR (segments_done = segments AND verifies_done = verifies)),
    CHECK (is_purging = (state IN ('removing', 'expiring'))),
    CHECK (is_cleared = (state IN ('removed', 'expired')) OR is_cleared AND state = 'failed')
    -- Each row is written again at its start and at its end.
) WITH (fillfactor = 50);
CREATE INDEX asset_by_directory ON asset (directory_id, id);
-- Who else has a key, which may be longer than what an index takes.
CREATE INDEX asset_by_key ON asset (hashtextextended(key, 0));
CREATE INDEX asset_by_catalog_key_taken ON asset (catalog_id) WHERE key_taken;
CREATE INDEX asset_by_catalog_redefined ON asset (catalog_id) WHERE redefined;
CREATE INDEX asset_by_catalog_paused ON asset (catalog_id) WHERE is_paused;
CREATE INDEX asset_by_catalog_paused_transfers ON asset (catalog_id) WHERE paused_transfers > 0;
CREATE INDEX asset_by_catalog_awaiting ON asset (catalog_id) WHERE awaits_neighbour;
CREATE INDEX asset_by_catalog_purging ON asset (catalog_id, id) WHERE is_purging;
CREATE INDEX asset_by_directory_purging ON asset (directory_id) WHERE is_purging;
CREATE INDEX asset_by_catalog_sidecars ON asset (catalog_id) WHERE sidecars IS NOT NULL;

CREATE INDEX asset_by_title ON asset (hashtextextended(title, 0)) WHERE title IS NOT NULL;
CREATE INDEX asset_by_catalog_limited ON asset (catalog_id)
    WHERE max_fetches IS NOT NULL OR max_sites IS NOT NULL;
CREATE INDEX asset_by_refresh ON asset (refresh_at) WHERE refresh_at IS NOT NULL;
-- Those without a time come first: they begin at once.
CREATE INDEX asset_by_start ON asset (catalog_id, not_before NULLS FIRST) WHERE is_waiting;
CREATE INDEX asset_by_expiry ON asset (catalog_id, least(expires_at, kept_until))
    WHERE least(expires_at, kept_until) IS NOT NULL AND NOT is_cleared;

-- Triggers that run before an update would lock each row once more; these run after it, for rare rows.
CREATE FUNCTION note_completion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE asset SET completed_at = now(), kept_until = now() + make_interval(secs => keep_seconds)
    WHERE id = NEW.id;
    RETURN NULL;
END $$;
-- From its first completion on: a check of its files does not extend the time.
CREATE TRIGGER keeping_begins AFTER UPDATE OF state ON asset
    FOR EACH ROW WHEN (NEW.completed_at IS NULL AND NEW.state = 'completed')
    EXECUTE FUNCTION note_completion();

CREATE FUNCTION end_pause() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE asset SET is_paused = false WHERE id = NEW.id;
    RETURN NULL;
END $$;
-- A worker may complete an asset before it notices the pause.
CREATE TRIGGER pause_ends AFTER UPDATE OF state ON asset
    FOR EACH ROW WHEN (NEW.is_paused AND NEW.state IN ('completed', 'failed', 'cancelled'))
    EXECUTE FUNCTION end_pause();

-- Fetches of titles whose number is limited, until no rule counts them.
CREATE TABLE title_fetch (
    site_id bigint NOT NULL,
    title text NOT NULL,
    fetched_at timestamptz NOT NULL DEFAULT now(),
    counts_until timestamptz NOT NULL
);
CREATE INDEX title_fetch_by_title ON title_fetch (hashtextextended(title, 0));
CREATE INDEX title_fetch_by_end ON title_fetch (counts_until);

-- Requests of assets by access logs: sums in which each request counts half for every week that passes, as of one
-- moment.
CREATE TABLE popularity (
    asset_id bigint PRIMARY KEY,
    requests float8 NOT NULL,
    bytes float8 NOT NULL,
    noted_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Files of mirrors that other tools made, under the keys of assets that were not started yet; until they are. The origin
-- is asked whether they are what it has.
CREATE TABLE found_file (
    asset_id bigint PRIMARY KEY,
    bytes bigint NOT NULL,
    sha256 text NOT NULL,
    -- A substitute for a validator: the time of its last change.
    validator text NOT NULL
);

-- Other URLs of a file's bytes.
CREATE TABLE mirror (
    asset_id bigint PRIMARY KEY,
    urls text[] NOT NULL CHECK (cardinality(urls) > 0)
);

-- MARK: Recordings

-- Live titles that are recorded, from the first reading of their manifests on.
CREATE TABLE recording (
    asset_id bigint PRIMARY KEY,
    catalog_id bigint NOT NULL,
    -- State from which the next reload continues, as JSON; only workers and the end of the recording read it.
    cursor text NOT NULL,
    -- The multivariant playlist that is stored in the end; of an MPD lines of JSON: what is around its periods, and
    -- the periods so far, without timelines. Null for a title that is a media playlist.
    manifest text,
    -- Playlists that are stored in the end. Until then they count among the asset's segments, so that it does not end.
    playlists int NOT NULL CHECK (playlists > 0),
    -- Ordinal of its next segment, and of the first one without a job.
    next_ordinal int NOT NULL DEFAULT 0,
    queued int NOT NULL DEFAULT 0,
    -- Segments that were listed, and those that are missing among them.
    segments bigint NOT NULL DEFAULT 0,
    gaps bigint NOT NULL DEFAULT 0,
    -- Gaps that were listed: segments that cannot be fetched, or whose name another one has.
    lost bigint NOT NULL DEFAULT 0,
    -- Names of renditions or representations that have joined the title, and are not recorded.
    unrecorded text[] NOT NULL DEFAULT '{}',
    -- Bytes of its largest playlist, without what the lost segments of an MPD add.
    bytes bigint NOT NULL DEFAULT 0,
    -- Seconds that were listed, and not read, at the last reload.
    behind_seconds float8 NOT NULL DEFAULT 0,
    -- Time to the next reload, and reloads in a row that brought nothing.
    reload_seconds float8 NOT NULL DEFAULT 1,
    unchanged int NOT NULL DEFAULT 0,
    begun_at timestamptz NOT NULL DEFAULT now(),
    -- When the last segment was listed.
    changed_at timestamptz NOT NULL DEFAULT now(),
    -- Since when it is not reloaded, and why.
    ended_at timestamptz,
    end_reason text CHECK (end_reason IN ('ended', 'until', 'unchanged', 'gone', 'full')),
    -- Its playlists are segments of the asset.
    is_written boolean NOT NULL DEFAULT false,
    CHECK ((ended_at IS NULL) = (end_reason IS NULL))
);
CREATE INDEX recording_by_catalog ON recording (catalog_id);

-- The lines of their playlists.
CREATE TABLE recorded_segment (
    asset_id bigint NOT NULL,
    playlist int NOT NULL,
    sequence bigint NOT NULL,
    seconds float8 NOT NULL,
    -- The lines of its keys and its initialization section; null if they are those of the last one.
    setup text,
    tags text NOT NULL,
    uri text NOT NULL,
    -- Its segment; null for a gap.
    ordinal int,
    -- Segments before it that were never listed.
    missed bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (asset_id, playlist, sequence)
);
CREATE INDEX recorded_segment_by_ordinal ON recorded_segment (asset_id, ordinal);

-- MARK: Segments and results

CREATE TABLE segment (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    asset_id bigint NOT NULL,
    -- The segment of the whole file, for a part.
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
    -- Offset in the object at the URL of a byte range that is stored as a file of its own. Its length is
    -- expected_bytes.
    object_offset bigint CHECK (object_offset >= 0),
    expected_bytes bigint,
    expected_sha256 text,
    expected_digests text,
    -- A file that is not divided again: its origin has promised ranges and served none.
    is_whole boolean,
    -- The multipart file of an earlier try that no worker resumes: the next one removes it at the site.
    previous_multipart_id uuid,
    -- File that was stored under its key from its URL for another asset, or for another choice of tracks: its job looks
    -- whether that is still there. Null for nearly all.
    known_bytes bigint,
    known_sha256 text,
    known_validator text,
    known_verified boolean,
    UNIQUE (asset_id, ordinal, part),
    CHECK ((parent_id IS NULL) = (part = 0)),
    CHECK ((part = 0) = (range_offset IS NULL)),
    CHECK (object_offset IS NULL OR part = 0 AND expected_bytes IS NOT NULL)
);
CREATE INDEX segment_by_parent ON segment (parent_id) WHERE parent_id IS NOT NULL;
-- Who else needs a file: of an asset that is a file, its own key says it.
CREATE INDEX segment_by_key ON segment (hashtextextended(key, 0)) WHERE role <> 'file' AND part = 0;

-- Ends of segments. Insert-mostly; written again only when the segment is fetched again.
CREATE TABLE result (
    segment_id bigint PRIMARY KEY,
    done boolean NOT NULL,
    bytes bigint,
    sha256 text,
    -- The bytes were compared with what a list or an origin states; null is no.
    verified boolean,
    -- The origin's name for the bytes that it served: an ETag, else a Last-Modified date.
    validator text,
    failure_code text,
    failure_message text,
    attempts smallint NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    CHECK (CASE WHEN done THEN bytes >= 0 AND sha256 IS NOT NULL ELSE failure_code IS NOT NULL END)
);

-- A large file that is fetched in parts.
CREATE TABLE multipart_file (
    id uuid PRIMARY KEY,
    segment_id bigint NOT NULL UNIQUE,
    -- The site at which it takes room: for all of the file from the start.
    site_id bigint,
    total_bytes bigint NOT NULL,
    bytes_done bigint NOT NULL DEFAULT 0,
    validator text NOT NULL,
    -- Digests of the whole file that the origin has stated: md5=…, sha256=…, in hex digits.
    digests text[] NOT NULL DEFAULT '{}',
    parts int NOT NULL,
    parts_done int NOT NULL DEFAULT 0,
    failed boolean NOT NULL DEFAULT false,
    -- The try of the whole file that was divided; when its parts do not fit, the next one follows.
    attempt smallint NOT NULL,
    CHECK (parts_done <= parts)
);

-- Multipart files that no worker resumes: the next worker at the site removes them, once.
CREATE TABLE abandoned_multipart_file (
    id uuid PRIMARY KEY,
    site_id bigint NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT now()
);

-- Notes each one that ends, for whatever reason. Of one that has its final key there is nothing to remove.
CREATE FUNCTION note_abandoned_multipart_files() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO abandoned_multipart_file (id, site_id)
    SELECT id, site_id FROM gone WHERE site_id IS NOT NULL
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER multipart_file_gone AFTER DELETE ON multipart_file REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_abandoned_multipart_files();

-- Manifests that are stored otherwise than they were served, until their segments are deleted.
CREATE TABLE rewritten_manifest (
    segment_id bigint PRIMARY KEY,
    content text NOT NULL,
    -- Digest of what the origin served; null if unknown.
    served_sha256 text
);

-- Files that titles listed before their tracks were selected again, with their stored results, and the manifests as
-- they were served. One that is listed again is here until it has a new result.
CREATE TABLE previous_file (
    asset_id bigint NOT NULL,
    key text NOT NULL,
    url text NOT NULL,
    expected_digests text,
    -- Digest of a manifest of the title; null for all else.
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
CREATE UNIQUE INDEX previous_file_by_key ON previous_file (asset_id, hashtextextended(key, 0));
-- Whose manifest at the edge may still list a file.
CREATE INDEX previous_file_needed_by_key ON previous_file (hashtextextended(key, 0)) WHERE bytes IS NOT NULL;

-- Answers of a cache's POPs for the objects of assets when they were last requested. Its segments' keys begin with the
-- POP.
CREATE TABLE cache_answer (
    asset_id bigint NOT NULL,
    key text NOT NULL,
    state text NOT NULL CHECK (state IN ('hit', 'stored', 'miss', 'notStored', 'unknown')),
    age_seconds bigint,
    -- The header fields that say so.
    detail text NOT NULL,
    requests int NOT NULL DEFAULT 1,
    -- The request before found it in the cache, or had it stored.
    was_cached boolean NOT NULL DEFAULT false,
    answered_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX cache_answer_by_key ON cache_answer (asset_id, hashtextextended(key, 0));

-- Stored files that their assets no longer need, in the order in which workers delete them, unless
-- another asset needs them by then. A row with the key `.dray/partial` stands for the interrupted bodies that removed
-- assets have left, or for a file in parts of such an asset, with its length.
CREATE TABLE unneeded_file (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site_id bigint NOT NULL,
    catalog_id bigint NOT NULL,
    asset_id bigint NOT NULL,
    key text NOT NULL,
    bytes bigint NOT NULL,
    -- Infinity: held back until the asset is complete or removed.
    due_at timestamptz NOT NULL DEFAULT now(),
    -- The job that is deleting it. Until that is reported, no job is made for the key.
    lane_id bigint,
    job_id bigint,
    -- When that job was found to be lost.
    lost_at timestamptz,
    -- Number of workers that it was given to without a report: if one was lost, it may have deleted the file.
    offers smallint NOT NULL DEFAULT 0,
    CHECK ((lane_id IS NULL) = (job_id IS NULL)),
    CHECK (job_id IS NOT NULL OR lost_at IS NULL)
);
CREATE INDEX unneeded_file_by_catalog ON unneeded_file (catalog_id, id) WHERE due_at < 'infinity';
CREATE INDEX unneeded_file_by_asset_held ON unneeded_file (asset_id) WHERE due_at = 'infinity';
CREATE INDEX unneeded_file_by_site_held ON unneeded_file (site_id) INCLUDE (asset_id, bytes) WHERE due_at = 'infinity';
CREATE INDEX unneeded_file_by_asset ON unneeded_file (asset_id, hashtextextended(key, 0));
CREATE INDEX unneeded_file_by_site_deleting ON unneeded_file (site_id) WHERE job_id IS NOT NULL;

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

CREATE INDEX refreshed_file_by_key ON refreshed_file (hashtextextended(key, 0)) WHERE staged IS NOT NULL;

-- Assets whose staged files may replace the stored ones, by job and lease under which they were staged.
CREATE TABLE refresh_publication (
    asset_id bigint PRIMARY KEY,
    job_id bigint NOT NULL,
    lease_id uuid NOT NULL,
    -- Number of files of a title that lists other files than before.
    segments int CHECK (segments > 0)
);

-- MARK: Workers and leases

CREATE TABLE worker (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    -- Version of its binary; null if unknown.
    version text,
    -- The queues that it takes jobs of; null for all of them.
    queues text[],
    -- Roots that it may write to: storage URLs of directories, null for every site; and sites within them that lead
    -- outside, by a symlink.
    roots text[],
    refused_sites bigint[] NOT NULL DEFAULT '{}',
    active_transfers int NOT NULL DEFAULT 0,
    -- Connections that jobs could use now, while it waits for some; and jobs that it holds and cannot begin soon.
    idle_connections int NOT NULL DEFAULT 0,
    surplus_jobs int NOT NULL DEFAULT 0,
    -- Transfers under way, by asset number: receivedBytes, expectedBytes, transfers.
    progress jsonb NOT NULL DEFAULT '{}',
    -- Failure that keeps it from working, as it reports, and since when.
    issue_code text,
    issue_message text,
    issue_since timestamptz,
    -- When it was last seen, of one that counts as lost.
    silent_since timestamptz,
    first_seen timestamptz NOT NULL DEFAULT now(),
    last_seen timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Work of each worker since it started, as of its last report in a minute: sums that only grow.
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

-- Work of each worker for a run of a catalog, as of its last report: sums that only grow.
CREATE TABLE run_work (
    run_id bigint NOT NULL,
    worker_id uuid NOT NULL,
    -- When it got its first job of the run.
    began_at timestamptz NOT NULL,
    reported_at timestamptz NOT NULL DEFAULT now(),
    connections int NOT NULL,
    fetches bigint NOT NULL,
    -- Sums of the seconds that fetches took, and of their squares.
    seconds float8 NOT NULL,
    seconds2 float8 NOT NULL,
    -- Seconds in which its connections were in use for the run, failed attempts too.
    connection_seconds float8 NOT NULL,
    PRIMARY KEY (run_id, worker_id)
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
CREATE INDEX lease_by_worker ON lease (worker_id);
CREATE INDEX lease_by_worker_isolated ON lease (worker_id) WHERE isolated;

-- A worker's part of the limits of an origin or a site (Quota.swift divides them). A row is made when the worker
-- is granted jobs of it, and deleted when the worker has no more to do there. Written under the lock of the origin's or
-- the site's row.
CREATE TABLE quota (
    kind text NOT NULL CHECK (kind IN ('origin', 'site')),
    resource_id bigint NOT NULL,
    worker_id uuid NOT NULL,
    -- Numbers of the last grant, and of the first one with the same amounts.
    number bigint NOT NULL,
    since bigint NOT NULL,
    -- Limits of the worker; null where it has none.
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
CREATE INDEX quota_by_worker ON quota (worker_id);
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
    -- The order in which a catalog's lanes are served: -1 what deletes files, which no schedule holds back, 0 what
    -- ends a file or a directory, 1 what was tried before, 2 manifests, 3 segments, 4 what is tried alone.
    rank smallint NOT NULL CHECK (rank BETWEEN -1 AND 4),
    -- Priority of assets with one of their own; -1: the catalog's; -2: of assets that are paused or wait, and never ready.
    own_priority smallint NOT NULL CHECK (own_priority BETWEEN -2 AND 9),
    -- Since when it may have jobs to claim; null when it has none.
    ready_since timestamptz,
    UNIQUE (catalog_id, origin_id, rank, own_priority),
    CHECK (own_priority >= -1 OR ready_since IS NULL)
) WITH (fillfactor = 50);
CREATE INDEX lane_by_queue_ready ON lane (queue_id, catalog_id, rank, id) WHERE ready_since IS NOT NULL;
CREATE INDEX lane_by_queue_isolated ON lane (queue_id) WHERE rank = 4 AND ready_since IS NOT NULL;

CREATE TABLE job (
    lane_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- 0 for checksums and purge.
    asset_id bigint NOT NULL,
    segment_id bigint,
    -- The segment of the whole file, for a part and for a verification.
    whole_id bigint,
    directory_id bigint,
    kind text NOT NULL
        CHECK (kind IN ('resolve', 'fetch', 'verify', 'checksums', 'refresh', 'publish', 'purge')),
    -- Tries before this one.
    attempt smallint NOT NULL,
    PRIMARY KEY (lane_id, id),
    CHECK ((segment_id IS NOT NULL) = (kind IN ('fetch', 'verify'))),
    CHECK ((directory_id IS NOT NULL) = (kind = 'checksums'))
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX job_by_whole ON job (whole_id) WHERE whole_id IS NOT NULL;

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
CREATE INDEX span_by_lease ON span (lease_id);

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
    -- Failure that it waits for, if that is not just time.
    failure_code text,
    failure_message text,
    -- Reason why it is tried again, if it waits for nothing but time.
    retry_code text,
    -- The origin's answer to the last URL of a job that waits for a fresh one. Such a job is never due.
    refused_code text,
    refused_message text
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX delayed_job_by_queue ON delayed_job (queue_id, available_at);
-- A catalog's next try is its first row.
CREATE INDEX delayed_job_by_catalog ON delayed_job (catalog_id, available_at);
CREATE INDEX delayed_job_by_catalog_purge ON delayed_job (catalog_id) WHERE kind = 'purge';
CREATE INDEX delayed_job_by_whole ON delayed_job (whole_id) WHERE whole_id IS NOT NULL;
CREATE INDEX delayed_job_by_catalog_held_up ON delayed_job (catalog_id, id) WHERE failure_code IS NOT NULL;
CREATE INDEX delayed_job_by_asset_refused ON delayed_job (asset_id, segment_id) WHERE refused_code IS NOT NULL;

-- Jobs that were cancelled while a lease held them: its worker is notified at its next heartbeat.
CREATE TABLE cancelled_job (
    lease_id uuid NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (lease_id, job_id)
);

-- Jobs of paused assets that leases hold: their workers keep what they have of them, and return them.
CREATE TABLE paused_job (
    lease_id uuid NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (lease_id, job_id)
);

-- Jobs that workers died with. One that has met a death is a suspect: it waits in a lane of rank 4, and is leased
-- alone, to a worker that holds nothing else. The next death is then caused by that job.
CREATE TABLE job_loss (
    kind text NOT NULL
        CHECK (kind IN ('resolve', 'fetch', 'verify', 'checksums', 'refresh', 'publish', 'purge')),
    -- The segment for fetch and verify, the directory for checksums, the catalog for purge, the asset for others: a
    -- job's number changes.
    target_id bigint NOT NULL,
    worker_id uuid NOT NULL,
    worker_name text,
    catalog_id bigint NOT NULL,
    lost_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, target_id, worker_id)
);
CREATE INDEX job_loss_by_catalog ON job_loss (catalog_id);

-- Whose turn it is to write the SHA256SUMS of a directory, for all catalogs that have it.
CREATE TABLE checksum_file_writer (
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

-- Additions of reports that counts do not include yet: a row a batch, so that reports do not queue for the row of a
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
    checksums_ended int NOT NULL DEFAULT 0,
    checksums_failed int NOT NULL DEFAULT 0,
    stored_bytes bigint NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX tally_by_catalog ON tally (catalog_id);

-- Files that are to be deleted count as stored until they are: one row for each catalog of a statement.
CREATE FUNCTION count_unneeded_files() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT catalog_id, CASE TG_OP WHEN 'INSERT' THEN sum(bytes) ELSE -sum(bytes) END
    FROM changed GROUP BY catalog_id HAVING sum(bytes) <> 0;
    RETURN NULL;
END
$$;
CREATE TRIGGER unneeded_file_counted AFTER INSERT ON unneeded_file REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_unneeded_files();
CREATE TRIGGER unneeded_file_gone AFTER DELETE ON unneeded_file REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_unneeded_files();

-- MARK: Audits

-- Audits of sites: a worker compares what is stored with what is recorded. The latest of each site are kept.
CREATE TABLE site_audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site_id bigint NOT NULL REFERENCES site,
    is_deep boolean NOT NULL,
    repairs boolean NOT NULL,
    is_scheduled boolean NOT NULL DEFAULT false,
    -- Compares only what lost workers have left: made by housekeeping.
    is_of_leftovers boolean NOT NULL DEFAULT false,
    -- Limits of what it reads; null for none.
    read_bytes_per_second bigint CHECK (read_bytes_per_second > 0),
    files_per_second int CHECK (files_per_second > 0),
    state text NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'running', 'completed', 'failed', 'cancelled')),
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    ended_at timestamptz,
    -- Who has it, and until when; the names stay.
    worker_id uuid,
    worker_name text,
    lease_id uuid,
    expires_at timestamptz,
    -- Number of leases since it last made progress.
    tries int NOT NULL DEFAULT 0,
    -- Reports that the present lease has made, and the bytes that it has read: what is repeated counts once.
    reports int NOT NULL DEFAULT 0,
    lease_read_bytes bigint NOT NULL DEFAULT 0,
    -- When the site's records were listed.
    listed_at timestamptz,
    pages int,
    expected_files bigint,
    expected_bytes bigint,
    -- The first page that is not done.
    page int NOT NULL DEFAULT 0,
    checked_files bigint NOT NULL DEFAULT 0,
    files bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    read_bytes bigint NOT NULL DEFAULT 0,
    -- Those of these files that are of Dray and may be there or not.
    uncompared_files bigint NOT NULL DEFAULT 0,
    uncompared_bytes bigint NOT NULL DEFAULT 0,
    failure_code text,
    failure_message text,
    CHECK ((ended_at IS NULL) = (state IN ('waiting', 'running')))
) WITH (fillfactor = 50);
-- One at a time.
CREATE UNIQUE INDEX site_audit_by_site_open ON site_audit (site_id, is_of_leftovers)
    WHERE ended_at IS NULL;
CREATE INDEX site_audit_by_site ON site_audit (site_id, id);

-- The site's records by the bytes of their keys, as text that a worker reads, until the audit has ended.
CREATE TABLE site_audit_page (
    audit_id bigint NOT NULL,
    number int NOT NULL,
    last_key text NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (audit_id, number)
);
-- Keys of a page are alike, but compressing them takes longer than all else.
ALTER TABLE site_audit_page ALTER content SET STORAGE EXTERNAL;

-- By page, because a page that another worker does again is counted again.
CREATE TABLE site_audit_count (
    audit_id bigint NOT NULL REFERENCES site_audit ON DELETE CASCADE,
    page int NOT NULL,
    kind text NOT NULL,
    found bigint NOT NULL,
    bytes bigint NOT NULL DEFAULT 0,
    -- Queued again, or removed.
    repaired bigint NOT NULL,
    PRIMARY KEY (audit_id, page, kind)
) WITH (fillfactor = 50);

-- The first of them; the others are counted.
CREATE TABLE site_audit_finding (
    audit_id bigint NOT NULL REFERENCES site_audit ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    page int NOT NULL,
    kind text NOT NULL
        CHECK (kind IN ('missing', 'truncated', 'changed', 'unrecorded', 'leftover', 'symlink', 'foreign')),
    path text NOT NULL,
    bytes bigint,
    expected_bytes bigint,
    repair text NOT NULL CHECK (repair IN ('none', 'queued', 'removed', 'postponed')),
    PRIMARY KEY (audit_id, id)
);

-- Leases of workers that were lost, whose temporary files at the site are leftovers; until a worker has removed these.
CREATE TABLE lost_lease (
    id uuid NOT NULL,
    site_id bigint NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT now(),
    is_swept boolean NOT NULL DEFAULT false,
    PRIMARY KEY (id, site_id)
);
CREATE INDEX lost_lease_by_site_unswept ON lost_lease (site_id) WHERE NOT is_swept;

-- MARK: Daily figures

-- Failure codes that assets met on the way to their ends. Housekeeping counts and deletes those of assets that have
-- ended. Without a reference, so that deleting assets does not read it.
CREATE TABLE asset_failure (
    asset_id bigint NOT NULL,
    code text NOT NULL,
    -- Origin of the lane in which the asset met it first.
    origin_id bigint NOT NULL,
    -- The most that was done: 0 nothing, 1 tried again, 2 served by a mirror, 3 the manifest read again for fresh URLs,
    -- 4 an optional file left out, 5 the renditions left out that list the file.
    remedy smallint NOT NULL CHECK (remedy BETWEEN 0 AND 5),
    -- A job that the asset needs failed for good with it.
    is_final boolean NOT NULL,
    PRIMARY KEY (asset_id, code)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
-- Titles that may have to do without a rendition.
CREATE INDEX asset_failure_of_renditions ON asset_failure (asset_id) WHERE remedy = 5;

-- Additions of reports and folds to the figures of a day: a row for each catalog, origin and failure code of a batch,
-- so that reports do not queue for the row of a day. Housekeeping moves them.
CREATE TABLE outcome (
    recorded_at timestamptz NOT NULL DEFAULT now(),
    catalog_id bigint NOT NULL,
    -- Origin of the lane; 0 for jobs that need no origin, and for assets.
    origin_id bigint NOT NULL DEFAULT 0,
    -- Code of a failure or a retry; empty for done segments, and for assets.
    code text NOT NULL DEFAULT '',
    -- Fetches of segments and parts, and jobs that failed for good.
    done int NOT NULL DEFAULT 0,
    failed int NOT NULL DEFAULT 0,
    retries int NOT NULL DEFAULT 0,
    -- Stored bytes, and those of them that were not fetched.
    bytes bigint NOT NULL DEFAULT 0,
    reused_bytes bigint NOT NULL DEFAULT 0,
    -- The sum of the times of the transfers that are done.
    transfer_ms bigint NOT NULL DEFAULT 0,
    assets_completed int NOT NULL DEFAULT 0,
    assets_failed int NOT NULL DEFAULT 0,
    assets_cancelled int NOT NULL DEFAULT 0,
    -- Failures with the code after which a mirror served the file in the same attempt.
    mirrored int NOT NULL DEFAULT 0,
    -- Assets that met the code and ended: all, those that completed, and by what; those that failed because of it.
    met int NOT NULL DEFAULT 0,
    recovered int NOT NULL DEFAULT 0,
    by_retry int NOT NULL DEFAULT 0,
    by_mirror int NOT NULL DEFAULT 0,
    by_fresh_url int NOT NULL DEFAULT 0,
    without_optional int NOT NULL DEFAULT 0,
    without_rendition int NOT NULL DEFAULT 0,
    lost int NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- Sums of these by day (UTC). Names in place of numbers: a row outlives its catalog and its origin. A day has a bounded
-- number of rows; queue 0 with the names `other` has the rest, by failure code.
CREATE TABLE daily_figure (
    day date NOT NULL,
    queue_id bigint NOT NULL,
    catalog text NOT NULL,
    origin text NOT NULL,
    code text NOT NULL,
    done bigint NOT NULL,
    failed bigint NOT NULL,
    retries bigint NOT NULL,
    bytes bigint NOT NULL,
    reused_bytes bigint NOT NULL,
    transfer_ms bigint NOT NULL,
    assets_completed bigint NOT NULL,
    assets_failed bigint NOT NULL,
    assets_cancelled bigint NOT NULL,
    mirrored bigint NOT NULL,
    met bigint NOT NULL,
    recovered bigint NOT NULL,
    by_retry bigint NOT NULL,
    by_mirror bigint NOT NULL,
    by_fresh_url bigint NOT NULL,
    without_optional bigint NOT NULL,
    without_rendition bigint NOT NULL,
    lost bigint NOT NULL,
    PRIMARY KEY (day, queue_id, catalog, origin, code)
) WITH (fillfactor = 70);

-- MARK: Load tests

-- Load tests on workers. Measurements stay until the follower has read them, or for a day after the end.
CREATE TABLE load_test (
    id uuid PRIMARY KEY,
    -- Null for any worker of the cluster.
    queue_id bigint REFERENCES queue,
    name text NOT NULL,
    -- Text that workers read; empty once the test has ended.
    scenario text NOT NULL,
    -- Among how many workers it is divided; null for all that are ready when the wait is over.
    workers int CHECK (workers > 0),
    at_least int NOT NULL CHECK (at_least > 0),
    duration_seconds float8 NOT NULL,
    -- Number of parts of its data that its client stores; 0 without data.
    parts int NOT NULL DEFAULT 0 CHECK (parts >= 0),
    -- Number of blocks of a replay's URLs; 0 of other tests.
    url_blocks int NOT NULL DEFAULT 0 CHECK (url_blocks >= 0),
    -- The loads that it can be given while it runs: their unit, the largest, and until when since its start;
    -- null if its load cannot change.
    load_unit text CHECK (load_unit IN ('arrivalsPerSecond', 'users')),
    load_most float8 CHECK (load_most >= 0),
    load_seconds float8 CHECK (load_seconds > 0),
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
    -- Reason why it did not start, or stopped by itself.
    failure_code text,
    failure_message text,
    CHECK ((failure_code IS NULL) = (failure_message IS NULL)),
    CHECK (num_nulls(load_unit, load_most, load_seconds) IN (0, 3))
);
-- One at a time of a queue, and one of the whole cluster.
CREATE UNIQUE INDEX load_test_by_queue_open ON load_test (coalesce(queue_id, 0)) WHERE state <> 'ended';

CREATE TABLE load_shard (
    test_id uuid NOT NULL REFERENCES load_test ON DELETE CASCADE,
    worker_id uuid NOT NULL,
    worker_name text NOT NULL,
    -- From 0; null before the start.
    number int CHECK (number >= 0),
    state text NOT NULL DEFAULT 'joined'
        CHECK (state IN ('joined', 'ready', 'running', 'finished', 'failed', 'lost', 'dismissed')),
    joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The first second that was not reported.
    next_second int NOT NULL DEFAULT 0,
    -- Cores of its worker's loops; 0 before it is ready.
    cores int NOT NULL DEFAULT 0,
    failure_code text,
    failure_message text,
    breakdown text,
    PRIMARY KEY (test_id, worker_id),
    CHECK ((failure_code IS NULL) = (failure_message IS NULL))
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX load_shard_by_number ON load_shard (test_id, number) WHERE number IS NOT NULL;

-- Changes of the load of a running test. Workers and followers name the last revision that they have.
CREATE TABLE load_change (
    test_id uuid NOT NULL REFERENCES load_test ON DELETE CASCADE,
    revision int NOT NULL CHECK (revision > 0),
    -- Seconds since the test's start from which it holds.
    at_seconds float8 NOT NULL CHECK (at_seconds >= 0),
    -- Arrivals per second, or users, of all shards together.
    level float8 NOT NULL CHECK (level >= 0),
    PRIMARY KEY (test_id, revision)
);

-- Their data, as clients wrote it: it may have secrets, and is deleted when the test ends. Shard s of n has
-- the parts whose number modulo n is s.
CREATE TABLE load_part (
    test_id uuid NOT NULL REFERENCES load_test ON DELETE CASCADE,
    number int NOT NULL CHECK (number >= 0),
    data text NOT NULL,
    PRIMARY KEY (test_id, number)
);

-- The URLs of a replay, one a line, in blocks that each worker gets; deleted when the test ends.
CREATE TABLE load_url_block (
    test_id uuid NOT NULL REFERENCES load_test ON DELETE CASCADE,
    number int NOT NULL CHECK (number >= 0),
    data text NOT NULL,
    PRIMARY KEY (test_id, number)
);

-- Their seconds, as workers wrote them.
CREATE TABLE load_interval (
    test_id uuid NOT NULL,
    number int NOT NULL,
    second int NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (test_id, number, second)
);

-- MARK: Access

-- Tokens of the API, besides the one of the coordinators' environment.
CREATE TABLE access_token (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('admin', 'operator', 'submitter', 'reader', 'worker')),
    -- SHA-256 of its text, which is kept nowhere.
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    -- Names of a worker's queues, empty for all: a queue may come later.
    queues text[] NOT NULL DEFAULT '{}' CHECK (role = 'worker' OR queues = '{}'),
    -- Storage URLs of a submitter's sites, empty for all.
    sites text[] NOT NULL DEFAULT '{}' CHECK (role = 'submitter' OR sites = '{}'),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Name of the token that created it.
    created_by text NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    -- To the minute.
    last_used_at timestamptz
);
CREATE UNIQUE INDEX access_token_by_name ON access_token (name) WHERE revoked_at IS NULL;

-- Who changed what; pruned by age, and by number for each token and in all.
CREATE TABLE audit_record (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- 0 for the token of the coordinator's environment. A token may be deleted before its records.
    token_id bigint NOT NULL,
    token_name text NOT NULL,
    role text NOT NULL,
    -- Method and path of the route.
    action text NOT NULL,
    -- Without secrets.
    object text NOT NULL,
    -- Status and code of the answer; null until the change has ended.
    status int,
    code text
);
CREATE INDEX audit_record_by_time ON audit_record (begun_at);
CREATE INDEX audit_record_by_token ON audit_record (token_id, id);

-- MARK: Events

-- Changes of states; pruned by age and number. Those of assets are inserted by the statements that change these, as
-- one statement may change millions; those of all else by triggers.
CREATE TABLE event (
    -- The transaction that made it. Events are read in the order of both numbers, and only those before the oldest
    -- transaction that is still running (`events_end`): so no event appears before one that was read.
    xact xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id bigint GENERATED ALWAYS AS IDENTITY,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Subject of the change and its new state: catalog.completed, asset.failed, worker.lost.
    kind text NOT NULL,
    catalog_id bigint,
    asset_id bigint,
    -- Assets that one statement completed, in place of as many rows: the last one has the number of this row, the one
    -- before it the number before, and so on.
    asset_ids bigint[],
    site_id bigint,
    worker_id uuid,
    -- Name of a worker or an origin, whose row may be gone; other names are looked up.
    name text,
    code text,
    -- Or its facts, as those of an asset's failure.
    message text,
    -- Number of its assets: of a catalog all, and how many failed; of assets that one statement changed.
    assets bigint,
    failed bigint,
    PRIMARY KEY (xact, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE FUNCTION note_catalog() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (kind, catalog_id, assets, failed)
    VALUES ('catalog.' || NEW.state, NEW.id, NEW.assets, NEW.assets_failed);
    RETURN NULL;
END $$;
CREATE TRIGGER event_of_new AFTER INSERT ON catalog FOR EACH ROW EXECUTE FUNCTION note_catalog();
CREATE TRIGGER event_of_state AFTER UPDATE OF state ON catalog
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION note_catalog();

CREATE FUNCTION note_worker() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    becomes text := 'joined';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        becomes := CASE WHEN OLD.silent_since IS NULL AND NEW.silent_since IS NOT NULL THEN 'lost'
                        WHEN OLD.silent_since IS NOT NULL AND NEW.silent_since IS NULL THEN 'returned'
                        WHEN NEW.issue_code IS NOT NULL THEN 'failing' ELSE 'recovered' END;
    END IF;
    INSERT INTO event (kind, worker_id, name, code, message)
    VALUES ('worker.' || becomes, NEW.id, NEW.name, NEW.issue_code, NEW.issue_message);
    RETURN NULL;
END $$;
CREATE TRIGGER event_of_new AFTER INSERT ON worker FOR EACH ROW EXECUTE FUNCTION note_worker();
CREATE TRIGGER event_of_state AFTER UPDATE OF silent_since, issue_code ON worker
    FOR EACH ROW WHEN ((OLD.silent_since IS NULL) <> (NEW.silent_since IS NULL)
                       OR OLD.issue_code IS DISTINCT FROM NEW.issue_code)
    EXECUTE FUNCTION note_worker();

CREATE FUNCTION note_origin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (kind, name, code)
    VALUES ('origin.' || CASE WHEN OLD.breaker <> NEW.breaker THEN NEW.breaker ELSE 'cooldown' END,
            NEW.url, CASE WHEN NEW.breaker <> 'closed' OR NEW.cooldown_until > now() THEN NEW.cooldown_reason END);
    RETURN NULL;
END $$;
-- A cooldown that is extended is no other state.
CREATE TRIGGER event_of_state AFTER UPDATE OF breaker, cooldown_until ON origin
    FOR EACH ROW WHEN (OLD.breaker <> NEW.breaker
                       OR NEW.cooldown_until > now() AND coalesce(OLD.cooldown_until <= now(), true))
    EXECUTE FUNCTION note_origin();

CREATE FUNCTION note_site() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (kind, site_id, code, message)
    VALUES ('site.' || CASE WHEN OLD.fault_code IS DISTINCT FROM NEW.fault_code
                            THEN CASE WHEN NEW.fault_code IS NULL THEN 'recovered' ELSE 'faulty' END
                            WHEN NEW.schedule_closed THEN 'closed' ELSE 'opened' END,
            NEW.id, NEW.fault_code, NEW.fault_message);
    RETURN NULL;
END $$;
CREATE TRIGGER event_of_state AFTER UPDATE OF fault_code, schedule_closed ON site
    FOR EACH ROW WHEN (OLD.fault_code IS DISTINCT FROM NEW.fault_code
                       OR OLD.schedule_closed <> NEW.schedule_closed)
    EXECUTE FUNCTION note_site();

CREATE FUNCTION note_queue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (kind, site_id) VALUES ('queue.' || NEW.state, NEW.site_id);
    RETURN NULL;
END $$;
CREATE TRIGGER event_of_state AFTER UPDATE OF state ON queue
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION note_queue();

-- MARK: Requests

-- Requests that created something, by the Idempotency-Key of their sender: inserted by the transaction that created
-- it; pruned by age, and by number for each token and in all.
CREATE TABLE repeated_request (
    -- Number of the token, 0 for that of the coordinator's environment.
    caller bigint NOT NULL,
    key text NOT NULL CHECK (octet_length(key) <= 128),
    -- SHA-256 of the route and the body.
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Null if it is not kept.
    answer bytea CHECK (octet_length(answer) <= 65536),
    PRIMARY KEY (caller, key)
);
CREATE INDEX repeated_request_by_time ON repeated_request (begun_at);
CREATE INDEX repeated_request_by_caller ON repeated_request (caller, begun_at);

-- MARK: Webhooks

-- Targets of events.
CREATE TABLE webhook (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL,
    -- The key of its signatures: read by the statement that leases deliveries, and by no other.
    secret text NOT NULL,
    -- Only events of this catalog; null for all.
    catalog_id bigint,
    -- Empty for all.
    kinds text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Name of the token that created it.
    created_by text NOT NULL,
    -- Nothing is sent before: its receiver answered with a Retry-After.
    cooldown_until timestamptz NOT NULL DEFAULT '-infinity',
    -- The last attempt that failed, of any delivery: its time, the status of the answer, and why.
    failed_at timestamptz,
    failed_status int,
    failed_code text,
    failed_message text,
    -- Events up to this one have their deliveries.
    xact xid8 NOT NULL,
    event_id bigint NOT NULL
) WITH (fillfactor = 50);

-- An event that is to be sent, or was; pruned by age and number.
CREATE TABLE webhook_delivery (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id bigint NOT NULL REFERENCES webhook ON DELETE CASCADE,
    kind text NOT NULL,
    -- The event as it is sent, without secrets.
    body text NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'dead')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts int NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When it was made, or was to be sent again.
    waiting_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Until when one coordinator alone sends it.
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    -- Status of the answer to its last attempt, or the reason for none.
    status int,
    code text,
    message text,
    ended_at timestamptz
) WITH (fillfactor = 70);
CREATE INDEX webhook_delivery_by_due ON webhook_delivery (webhook_id, due_at, id)
    WHERE state = 'waiting';
CREATE INDEX webhook_delivery_by_age ON webhook_delivery (webhook_id, waiting_since)
    WHERE state = 'waiting';
CREATE INDEX webhook_delivery_by_end ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX webhook_delivery_by_webhook ON webhook_delivery (webhook_id, state, id);
