-- Results of fetches, and jobs that are tried again.

-- name: settleDone
-- raises: asset.progressed, asset.partsStored, asset.finished, asset.gaveUp, origin.recover
-- Fetches of whole objects that are done. Parameters as settle_done of functions/reports.sql has
-- them.
SELECT settle_done(
    @jobs::bigint[], @lease_numbers::bigint[], @bytes::bigint[], @sha256::text[],
    @adopted::bool[], @verified::bool[], @validators::text[], @transfer_ms::bigint[],
    @refresh_seconds::bigint[], @leases::uuid[], @workers::uuid[], @first_jobs::bigint[],
    @last_jobs::bigint[], @served_numbers::bigint[], @served_origins::text[]) AS places

-- name: reportedJobs
-- Those of @jobs that the named leases of this worker hold, locked; pairwise.
SELECT id, kind, attempt, asset_id, segment_id, lane_id, parent_id, range_length, whole_attempt,
       is_unseen, is_given_up, is_at_mirrors, is_renewal
FROM reported_jobs(@jobs::bigint[], @leases::uuid[], @worker::uuid)

-- name: settleFetches
-- raises: asset.progressed, asset.partsStored, asset.finished, asset.gaveUp
-- Fetches that ended, done or failed for good, pairwise. The jobs are locked by the caller.
SELECT settle_fetches(
    @lanes::bigint[], @jobs::bigint[], @done::bool[], @bytes::bigint[], @sha256::text[],
    @adopted::bool[], @codes::text[], @messages::text[], @verified::bool[], @validators::text[])

-- name: retry
-- Jobs that are tried again, pairwise, as retry_jobs of functions/reports.sql has them. They are
-- locked by the caller.
SELECT retry_jobs(@lanes::bigint[], @jobs::bigint[], @seconds::float8[], @attempts::int[],
    @counts::bool[], @codes::text[], @messages::text[], @await_own_origins::bool[],
    @isolate::bool[], @reasons::text[], @refused_codes::text[], @refused_messages::text[])

-- name: noteReturned
-- Pairwise jobs that a worker gives back, which are locked with their assets. What it had received of
-- their files by its last heartbeat is kept for who continues.
WITH received AS MATERIALIZED (
    SELECT DISTINCT ON (j.asset_id) j.asset_id, (t.progress->>'receivedBytes')::bigint AS bytes,
           (t.progress->>'expectedBytes')::bigint AS expected,
           (t.progress->>'transfers')::bigint AS transfers
    FROM unnest(@lanes::bigint[], @jobs::bigint[]) AS r(lane, job)
    CROSS JOIN LATERAL (
        SELECT (SELECT asset_id FROM job WHERE lane_id = r.lane AND id = r.job AND kind = 'fetch') AS asset_id
    ) AS j
    JOIN span p ON p.lane_id = r.lane AND r.job BETWEEN p.first_id AND p.last_id
    JOIN lease e ON e.id = p.lease_id
    JOIN worker w ON w.id = e.worker_id
    CROSS JOIN LATERAL (SELECT w.progress->(j.asset_id::text) AS progress) AS t
    WHERE t.progress IS NOT NULL
    ORDER BY j.asset_id
)
UPDATE asset a SET paused_received_bytes = r.bytes, paused_expected_bytes = r.expected,
    paused_transfers = r.transfers
FROM received r WHERE a.id = r.asset_id AND r.transfers > 0

-- name: deleteJob
DELETE FROM job WHERE lane_id = @lane::bigint AND id = @job::bigint

-- name: settleAsset
-- raises: asset.progressed, asset.partsStored, asset.finished, asset.gaveUp
-- One asset after something rarer than a fetch: a verification, a failed resolution.
WITH rolled AS (
    UPDATE asset a SET
        verifies_done = a.verifies_done + @verifies_done::int,
        verifies_failed = a.verifies_failed + @verifies_failed::int,
        failure_code = coalesce(a.failure_code, @failure_code::text),
        failure_message = CASE WHEN a.failure_code IS NULL THEN @failure_message::text
                               ELSE a.failure_message END,
        state = CASE WHEN @resolve_failed::bool THEN 'failed'
                     ELSE settled_state(a.segments, a.segments_done, a.segments_failed, a.verifies,
                                        a.verifies_done + @verifies_done::int,
                                        a.verifies_failed + @verifies_failed::int, a.may_lack) END,
        changed_at = now()
    FROM asset o
    WHERE a.id = @asset::bigint AND o.id = a.id
    RETURNING a.id, a.catalog_id, a.directory_id, a.state, a.failure_code, a.failure_message,
              a.state <> o.state AS has_changed
), events AS (
    INSERT INTO event (kind, catalog_id, asset_id, code, message)
    SELECT 'asset.' || state, catalog_id, id, failure_code, failure_message FROM rolled
    WHERE has_changed
), tallied AS (
    INSERT INTO tally (catalog_id, directory_id, assets_completed, assets_failed)
    SELECT catalog_id, directory_id, (state = 'completed')::int, (state = 'failed')::int
    FROM rolled
)
SELECT count(*) AS assets FROM rolled

-- name: noteOutcomes
-- Pairwise: what a report adds to the figures of the day, by lane and failure code.
INSERT INTO outcome (catalog_id, origin_id, code, done, failed, retries, bytes, reused_bytes,
                     transfer_ms, mirrored)
SELECT l.catalog_id, l.origin_id, n.code, n.done, n.failed, n.retries, n.bytes, n.reused_bytes, n.ms,
       n.mirrored
FROM unnest(@lanes::bigint[], @codes::text[], @done::bigint[], @failed::bigint[],
            @retries::bigint[], @bytes::bigint[], @reused_bytes::bigint[], @transfer_ms::bigint[],
            @mirrored::bigint[])
    AS n(lane, code, done, failed, retries, bytes, reused_bytes, ms, mirrored)
JOIN lane l ON l.id = n.lane
