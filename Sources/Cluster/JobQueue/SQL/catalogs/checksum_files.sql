-- SHA256SUMS: one a directory of a site.

-- name: begin
-- raises: directory.read
-- @jobs in the order of their numbers. Those that the lease of this worker holds, and whether the
-- part of their directory's SHA256SUMS that is theirs is written already, or this worker's turn
-- begins: it then lists what every catalog has in the directory up to now.
WITH held AS MATERIALIZED (
    SELECT r.job, p.lane_id,
           (SELECT directory_id FROM job
            WHERE lane_id = p.lane_id AND id = r.job AND kind = 'checksums') AS directory_id
    FROM lease l
    JOIN span p ON p.lease_id = l.id
    JOIN unnest(@jobs::bigint[]) AS r(job) ON r.job BETWEEN p.first_id AND p.last_id
    WHERE l.id = @lease::uuid AND l.worker_id = @worker::uuid
), mine AS MATERIALIZED (
    SELECT h.job, h.lane_id, d.id, d.site_id, d.path,
        d.checksum_state IS NOT DISTINCT FROM 'written' AS is_written
    FROM held h
    JOIN directory d ON d.id = h.directory_id
), begun AS (
    INSERT INTO checksum_file_writer (site_id, path, lane_id, job_id, lease_id)
    SELECT site_id, path, lane_id, job, @lease::uuid FROM mine WHERE NOT is_written
        ORDER BY site_id, path
    ON CONFLICT (site_id, path) DO NOTHING
    RETURNING job_id, site_id, path
), read AS (
    UPDATE directory d SET checksum_state = 'read' FROM begun b
    WHERE d.site_id = b.site_id AND d.path = b.path AND d.checksum_state = 'due'
)
SELECT m.job, m.is_written, b.job_id IS NOT NULL AS begins
FROM mine m LEFT JOIN begun b ON b.job_id = m.job

-- name: lockWriter
-- @job waits for its turn. Locks whose turn it is, if anybody's.
SELECT w.job_id FROM job j JOIN directory d ON d.id = j.directory_id
JOIN checksum_file_writer w ON w.site_id = d.site_id AND w.path = d.path
WHERE j.lane_id IN (SELECT lane_id FROM span WHERE lease_id = @lease::uuid) AND j.id = @job::bigint
FOR UPDATE OF w

-- name: takeOver
-- raises: directory.read
-- @job waits for its turn; the turn in its directory is locked. One row when the turn begins: it
-- was this job's already, its writer's lease has ended, or the writer's job was taken back and its
-- worker, which holds the lease for other jobs, has sent heartbeats since: their answers report
-- that.
WITH turn AS MATERIALIZED (
    SELECT j.lane_id, w.site_id, w.path, w.lost_at, w.job_id = j.id
        AND w.lease_id = @lease::uuid AS is_own,
           EXISTS (SELECT FROM lease WHERE id = w.lease_id) AS stands,
           EXISTS (SELECT FROM job WHERE lane_id = w.lane_id AND id = w.job_id) AS has_job,
           w.lost_at < now() - interval '30 seconds' AND EXISTS (
               SELECT FROM lease l JOIN worker r ON r.id = l.worker_id
               WHERE l.id = w.lease_id
                   AND r.last_seen > w.lost_at + interval '20 seconds') AS is_known
    FROM job j JOIN directory d ON d.id = j.directory_id
    JOIN checksum_file_writer w ON w.site_id = d.site_id AND w.path = d.path
    WHERE j.lane_id IN (SELECT lane_id FROM span WHERE lease_id = @lease::uuid)
        AND j.id = @job::bigint
), lost AS (
    UPDATE checksum_file_writer w SET lost_at = now() FROM turn t
    WHERE w.site_id = t.site_id AND w.path = t.path
      AND t.stands AND NOT t.has_job AND NOT t.is_own AND t.lost_at IS NULL
), taken AS (
    UPDATE checksum_file_writer w SET lane_id = t.lane_id, job_id = @job::bigint,
        lease_id = @lease::uuid, lost_at = NULL, begun_at = now()
    FROM turn t
    WHERE w.site_id = t.site_id AND w.path = t.path
      AND (t.is_own OR NOT t.stands OR NOT t.has_job AND t.is_known)
    RETURNING w.site_id, w.path
), read AS (
    UPDATE directory d SET checksum_state = 'read' FROM taken t
    WHERE d.site_id = t.site_id AND d.path = t.path AND d.checksum_state = 'due'
)
SELECT FROM taken

-- name: page
SELECT key, sha256, recorded_seconds, directory, id, ordinal
FROM checksum_page(@site::bigint, @path::text, @after_directory::bigint, @after_asset::bigint,
                   @after_ordinal::int, @limit::int)

-- name: settle
-- raises: directory.write
-- Pairwise; @failed is 0 or 1. Directories whose SHA256SUMS is written, or has failed, with what was
-- written, null for nothing. Those that were listed with them need no list of their own.
WITH ended AS MATERIALIZED (
    SELECT j.tid, j.lane_id, j.id, j.directory_id, r.failed, r.bytes, r.sha256
    FROM unnest(@lanes::bigint[], @jobs::bigint[], @failed::int[], @bytes::bigint[],
                @sha256::text[]) AS r(lane, job, failed, bytes, sha256)
    {{jobOfEach}}
), gone AS (
    DELETE FROM job WHERE ctid = ANY(ARRAY(SELECT tid FROM ended))
), turns AS (
    DELETE FROM checksum_file_writer w USING ended e JOIN directory d ON d.id = e.directory_id
    WHERE w.site_id = d.site_id AND w.path = d.path AND w.lane_id = e.lane_id AND w.job_id = e.id
    RETURNING w.site_id, w.path, e.failed, e.bytes, e.sha256
), written AS (
    UPDATE directory d SET checksum_bytes = t.bytes, checksum_sha256 = t.sha256,
        checksum_state = CASE WHEN d.checksum_state = 'read' THEN 'written' ELSE d.checksum_state END
    FROM turns t WHERE t.failed = 0 AND d.site_id = t.site_id AND d.path = t.path
)
INSERT INTO tally (catalog_id, checksums_ended, checksums_failed)
SELECT l.catalog_id, count(*), sum(e.failed)
FROM ended e JOIN lane l ON l.id = e.lane_id GROUP BY l.catalog_id

-- unprepared: retry
-- raises: directory.rewrite, catalog.start
-- Some of its checksum files could not be written. Which is not known: every directory with nothing
-- under way gets its file written again, and the catalog runs until then.
WITH lacking AS MATERIALIZED (
    SELECT d.id FROM directory d
    WHERE d.catalog_id = @catalog::bigint AND d.unsettled = 0
      AND EXISTS (SELECT FROM catalog c WHERE c.id = d.catalog_id AND {{keepsFiles}})
      AND EXISTS (SELECT FROM asset a JOIN catalog c ON c.id = a.catalog_id
                  WHERE a.directory_id = d.id AND a.generation = c.generation)
      AND NOT EXISTS (SELECT FROM delayed_job j
                      WHERE j.catalog_id = d.catalog_id AND j.directory_id = d.id)
      AND NOT EXISTS (SELECT FROM lane l JOIN job j ON j.lane_id = l.id
                      WHERE l.catalog_id = d.catalog_id AND l.rank IN (0, 1, 4)
                          AND j.directory_id = d.id)
), made AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             directory_id, kind)
    SELECT c.queue_id, c.id, 0,
           CASE WHEN EXISTS (SELECT FROM job_loss x
                             WHERE x.kind = 'checksums' AND x.target_id = d.id) THEN 4 ELSE 0 END,
           -1, 0, d.id, 'checksums'
    FROM lacking d JOIN catalog c ON c.id = @catalog::bigint RETURNING 1
), due AS (
    UPDATE directory d SET checksum_state = 'due' FROM lacking WHERE d.id = lacking.id
), n AS (
    SELECT count(*) AS jobs FROM made
), counted AS (
    UPDATE catalog SET state = 'running', ended_at = NULL,
        checksums_outstanding = checksums_outstanding + n.jobs
    FROM n WHERE id = @catalog::bigint AND n.jobs > 0
)
SELECT jobs FROM n
