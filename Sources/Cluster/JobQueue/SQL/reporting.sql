-- Results of fetches, and jobs that are tried again.

-- name: settleDone
-- Results of segments that have none yet. Parameters as settle_done of functions/reports.sql has
-- them.
SELECT settle_done(
    @jobs::bigint[], @lease_numbers::bigint[], @bytes::bigint[], @sha256::text[],
    @adopted::bool[], @verified::bool[], @validators::text[], @leases::uuid[], @workers::uuid[],
    @served_numbers::bigint[], @served_origins::text[]) AS places

-- name: settleDoneAgain
-- As settleDone, of segments some of which have results.
SELECT settle_done_again(
    @jobs::bigint[], @lease_numbers::bigint[], @bytes::bigint[], @sha256::text[],
    @adopted::bool[], @verified::bool[], @validators::text[], @leases::uuid[], @workers::uuid[],
    @served_numbers::bigint[], @served_origins::text[]) AS places

-- name: reportedJobs
-- Those of @jobs that the named leases of this worker hold, locked; pairwise.
SELECT id, kind, attempt, asset_id, segment_id, lane_id, parent_id, range_length, whole_attempt,
       is_unseen, is_given_up, is_at_mirrors, is_renewal
FROM reported_jobs(@jobs::bigint[], @leases::uuid[], @worker::uuid)

-- name: settleFetches
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

-- name: deleteJob
DELETE FROM job WHERE lane_id = @lane::bigint AND id = @job::bigint

-- name: settleAsset
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
                                        a.verifies_failed + @verifies_failed::int) END,
        changed_at = now()
    WHERE a.id = @asset::bigint
    RETURNING a.catalog_id, a.directory_id, a.state
), tallied AS (
    INSERT INTO tally (catalog_id, directory_id, assets_completed, assets_failed)
    SELECT catalog_id, directory_id, (state = 'completed')::int, (state = 'failed')::int
    FROM rolled
)
SELECT count(*) AS assets FROM rolled
