-- Sources: lists at URLs that workers read again and again, and scheduled refreshes.

-- name: set
-- @delay_seconds until the first reading. What is known of another list does not count. A worker that
-- reads it loses its lease.
INSERT INTO source AS s (catalog_id, url, format, every_seconds, prunes, max_drop_percent, next_at)
VALUES (@catalog::bigint, @url, @format::text, @every_seconds::float8, @prunes::bool,
        @max_drop_percent::int, now() + make_interval(secs => @delay_seconds::float8))
ON CONFLICT (catalog_id) DO UPDATE SET
    url = excluded.url, format = excluded.format, every_seconds = excluded.every_seconds,
    prunes = excluded.prunes, max_drop_percent = excluded.max_drop_percent,
    validator = CASE WHEN (s.url, s.format, s.prunes)
                          IS NOT DISTINCT FROM (excluded.url, excluded.format, excluded.prunes)
                     THEN s.validator END,
    sha256 = CASE WHEN (s.url, s.format, s.prunes)
                       IS NOT DISTINCT FROM (excluded.url, excluded.format, excluded.prunes)
                  THEN s.sha256 END,
    next_at = excluded.next_at, lease_id = NULL, reads_again = false, failures = 0

-- name: readNow
-- A reading that is under way may have fetched the list before it changed: it is read again after that.
UPDATE source SET next_at = now(), reads_again = lease_id IS NOT NULL
WHERE catalog_id = @catalog::bigint RETURNING catalog_id

-- name: remove
DELETE FROM source WHERE catalog_id = @catalog::bigint RETURNING catalog_id

-- name: status
-- @catalog is null for all after number @after.
SELECT s.catalog_id, c.name, q.name AS queue, t.storage_url, s.url, s.format, s.every_seconds,
       s.prunes, s.max_drop_percent, s.result, s.failure_code, s.failure_message, s.failures,
       s.assets, s.added, s.dropped,
       s.lease_id IS NOT NULL AND s.expires_at > clock_timestamp() AS is_reading, s.worker_name,
       c.state = 'cancelled' OR coalesce(c.expires_at < now(), false) AS is_skipped,
       extract(epoch FROM s.next_at)::float8 AS next, extract(epoch FROM s.read_at)::float8 AS read,
       extract(epoch FROM s.applied_at)::float8 AS applied,
       extract(epoch FROM clock_timestamp())::float8 AS now
FROM source s JOIN catalog c ON c.id = s.catalog_id
JOIN site t ON t.id = c.site_id JOIN queue q ON q.id = c.queue_id
WHERE (@catalog::bigint IS NULL OR s.catalog_id = @catalog) AND s.catalog_id > @after::bigint
ORDER BY s.catalog_id LIMIT @limit::int

-- name: site
-- The site of the catalog of a source.
SELECT c.site_id FROM source s JOIN catalog c ON c.id = s.catalog_id
WHERE s.catalog_id = @catalog::bigint

-- name: called
-- Those that are due and need a worker, a few of each queue: one without workers keeps none of the others
-- waiting. A catalog that was cancelled waits until it is submitted again.
SELECT id, queue FROM (
    SELECT s.catalog_id AS id, q.name AS queue, s.next_at,
           row_number() OVER (PARTITION BY q.id ORDER BY s.next_at) AS index
    FROM source s JOIN catalog c ON c.id = s.catalog_id
    JOIN queue q ON q.id = c.queue_id JOIN site t ON t.id = c.site_id
    WHERE s.next_at <= clock_timestamp()
      AND (s.lease_id IS NULL OR s.expires_at < clock_timestamp())
      AND c.state <> 'cancelled' AND (c.expires_at IS NULL OR c.expires_at > now())
      AND q.state = 'active' AND t.fault_code IS NULL
) AS due
ORDER BY index, next_at LIMIT 200

-- name: lease
-- No row where another worker has it, or it is not due. What another one has sent is dropped.
WITH free AS MATERIALIZED (
    SELECT catalog_id FROM source
    WHERE catalog_id = @catalog::bigint
      AND (lease_id = @lease::uuid OR next_at <= clock_timestamp()
           AND (lease_id IS NULL OR expires_at < clock_timestamp()))
    FOR UPDATE SKIP LOCKED
), batches AS (
    DELETE FROM source_batch b USING free f, source s
    WHERE b.catalog_id = f.catalog_id AND s.catalog_id = f.catalog_id
      AND s.lease_id IS DISTINCT FROM @lease::uuid
)
UPDATE source s SET worker_id = @worker::uuid, worker_name = @name, lease_id = @lease::uuid,
    expires_at = clock_timestamp() + make_interval(secs => @seconds::float8)
FROM free, catalog c
WHERE s.catalog_id = free.catalog_id AND c.id = s.catalog_id
RETURNING s.url, s.format, s.validator, s.sha256, s.max_drop_percent, c.title_options, c.generation,
    (SELECT count(*) FROM asset a
     WHERE a.catalog_id = c.id AND a.listed_generation = c.generation) AS assets

-- name: extend
-- The lease's row, locked and extended; none where the worker does not hold it.
UPDATE source SET expires_at = clock_timestamp() + make_interval(secs => @seconds::float8)
WHERE catalog_id = @catalog::bigint AND worker_id = @worker::uuid AND lease_id = @lease::uuid
RETURNING prunes, failure_code,
          CASE WHEN opened_by = @lease::uuid THEN opened_generation END AS generation

-- name: known
-- Counts those of these assets that the catalog's last list named.
SELECT count(*) AS known FROM asset a JOIN catalog c ON c.id = a.catalog_id
WHERE a.catalog_id = @catalog::bigint AND a.name = ANY(@names::text[])
  AND a.listed_generation = c.generation

-- name: addBatch
-- The lease's row is locked.
INSERT INTO source_batch (catalog_id, assets) VALUES (@catalog::bigint, @assets)

-- name: batch
-- The first one after number @after.
SELECT id, assets FROM source_batch WHERE catalog_id = @catalog::bigint AND id > @after::bigint
ORDER BY id LIMIT 1

-- name: reopen
-- The catalog's lock is held. A next submission with the options of the last one; no row while somebody
-- else is submitting, whose submission it would replace. One that was left open for an hour does not count,
-- nor one that an earlier reading of this source opened and could not start.
UPDATE catalog c SET opened_generation = c.opened_generation + 1, opened_at = now()
WHERE c.id = @catalog::bigint
  AND (c.opened_generation = c.generation OR c.opened_at < now() - interval '1 hour'
       OR EXISTS (SELECT FROM source s WHERE s.catalog_id = c.id
                  AND s.opened_generation = c.opened_generation))
RETURNING c.opened_generation

-- name: noteOpened
UPDATE source SET opened_by = @lease::uuid, opened_generation = @generation::int
WHERE catalog_id = @catalog::bigint

-- name: finish
-- Its row is locked. The next reading follows after the interval, 5 % more or less, so that sources that were set
-- together are not read together. A failed one is tried again sooner.
WITH batches AS (
    DELETE FROM source_batch WHERE catalog_id = @catalog::bigint
), ended AS (
    UPDATE source s SET
        lease_id = NULL, opened_by = NULL, reads_again = false, read_at = now(), result = @result,
        failure_code = @failure_code::text, failure_message = @failure_message::text,
        failures = CASE WHEN @failure_code::text IS NULL THEN 0 ELSE s.failures + 1 END,
        validator = CASE WHEN @result = 'applied' THEN @validator::text ELSE s.validator END,
        sha256 = CASE WHEN @result = 'applied' THEN @sha256::text ELSE s.sha256 END,
        assets = CASE WHEN @result = 'applied' THEN @assets::bigint ELSE s.assets END,
        added = CASE WHEN @result = 'applied' THEN @added::bigint ELSE s.added END,
        dropped = CASE WHEN @result = 'applied' THEN @dropped::bigint ELSE s.dropped END,
        applied_at = CASE WHEN @result = 'applied' THEN now() ELSE s.applied_at END,
        next_at = now() + make_interval(secs => (0.95 + 0.1 * random())
            * CASE WHEN s.reads_again THEN 0 WHEN @failure_code::text IS NULL THEN s.every_seconds
                   ELSE least(s.every_seconds, 60 * 2 ^ least(s.failures, 10)) END)
    WHERE s.catalog_id = @catalog::bigint
    RETURNING s.catalog_id
)
INSERT INTO event (kind, catalog_id, code, message)
SELECT CASE WHEN @failure_code::text IS NULL THEN 'catalog.listApplied'
            ELSE 'catalog.listFailed' END, catalog_id, @failure_code::text, @message::text
FROM ended WHERE @message::text IS NOT NULL

-- name: release
-- The worker cannot continue, for its own reasons; another one may at once.
UPDATE source SET lease_id = NULL WHERE catalog_id = @catalog::bigint

-- name: claimRefreshes
-- Catalogs whose files are to be checked by their schedules: none that runs, is being submitted, was
-- cancelled or has expired. Another coordinator tries again in a minute, unless it is noted below.
WITH due AS MATERIALIZED (
    SELECT id FROM catalog
    WHERE refresh_at <= now() AND state IN ({{catalogRefreshable}})
      AND opened_generation = generation AND (expires_at IS NULL OR expires_at > now())
    ORDER BY refresh_at LIMIT 20 FOR UPDATE SKIP LOCKED
)
UPDATE catalog c SET refresh_at = now() + interval '1 minute' FROM due WHERE c.id = due.id
RETURNING c.id

-- name: noteRefreshed
UPDATE catalog
SET refresh_at = now() + make_interval(secs => refresh_seconds * (0.95 + 0.1 * random()))
WHERE id = @catalog::bigint AND refresh_seconds IS NOT NULL

-- name: notify
-- Notifies coordinators that a source needs a worker.
SELECT pg_notify('dray_work', 'sources')
