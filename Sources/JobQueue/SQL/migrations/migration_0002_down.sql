-- Catalogs under way are interrupted: a start counts anew and goes on with what is stored.
DROP FUNCTION claim_jobs, claim_order, claim_lane, promote_jobs, origin_allowance, share_origin,
    jobs_held;
DROP VIEW origin_limit;
DROP INDEX origin_cooling, lease_of_worker;
DROP TABLE job, delayed_job, lane, span, cancelled_job, origin_share, origin_decision, tally;
TRUNCATE lease;
UPDATE asset SET state = 'interrupted' WHERE state IN ({{assetInterruptible}});
UPDATE directory SET unsettled = 0;
UPDATE catalog SET state = 'interrupted', ended_at = now(), sums_outstanding = 0
WHERE state = 'running';
ALTER TABLE asset DROP COLUMN priority;
ALTER TABLE catalog DROP COLUMN not_before, DROP COLUMN deadline;
ALTER TABLE queue DROP COLUMN state;
ALTER TABLE site DROP COLUMN schedule, DROP COLUMN closed, DROP COLUMN bytes_per_second;
DELETE FROM origin WHERE id = 0;
ALTER TABLE origin DROP COLUMN max_connections, DROP COLUMN requests_per_second,
    DROP COLUMN bytes_per_second, DROP COLUMN has_own_limits, DROP COLUMN breaker,
    DROP COLUMN failures, DROP COLUMN openings;

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
