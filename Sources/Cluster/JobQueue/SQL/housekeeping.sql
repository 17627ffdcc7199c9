-- Rows that are no longer needed.

-- unprepared: leases
-- Leases that hold nothing any more. A young one may still be getting its jobs; one whose jobs were
-- cancelled or paused reports that until its worker has let go of it; and one that was released unseen keeps
-- its id from being granted while that may still be asked for.
DELETE FROM lease l WHERE l.granted_at < now() - interval '10 seconds'
  AND (l.expires_at < now() OR EXISTS (SELECT FROM span WHERE lease_id = l.id))
  AND NOT EXISTS (
      SELECT FROM span p CROSS JOIN LATERAL (
          SELECT FROM job
          WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id LIMIT 1
      ) AS j
      WHERE p.lease_id = l.id)
  AND NOT EXISTS (SELECT FROM cancelled_job x WHERE x.lease_id = l.id)
  AND NOT EXISTS (SELECT FROM paused_job x WHERE x.lease_id = l.id)

-- unprepared: spans
-- Spans whose lease is over, except the last of each lane, where the next claim begins.
DELETE FROM span p WHERE NOT EXISTS (SELECT FROM lease l WHERE l.id = p.lease_id)
  AND (EXISTS (SELECT FROM span n WHERE n.lane_id = p.lane_id AND n.last_id > p.last_id)
       OR NOT EXISTS (SELECT FROM lane l WHERE l.id = p.lane_id))

-- unprepared: lanes
-- Lanes of catalogs that ended some time ago, unless one is being started again.
WITH ended AS MATERIALIZED (
    SELECT DISTINCT c.id FROM catalog c JOIN lane l ON l.catalog_id = c.id
    WHERE c.state IN ({{catalogEnded}})
      AND c.ended_at < now() - interval '10 minutes' LIMIT 100
), locked AS MATERIALIZED (
    SELECT id FROM ended
    WHERE pg_try_advisory_xact_lock(hashtextextended('dray.catalog.' || current_schema(), id))
)
DELETE FROM lane l USING locked WHERE l.catalog_id = locked.id AND l.ready_since IS NULL
  AND NOT EXISTS (SELECT FROM job j WHERE j.lane_id = l.id)

-- unprepared: cancelled
WITH paused AS (
    DELETE FROM paused_job x WHERE NOT EXISTS (SELECT FROM lease l WHERE l.id = x.lease_id)
)
DELETE FROM cancelled_job x WHERE NOT EXISTS (SELECT FROM lease l WHERE l.id = x.lease_id)

-- unprepared: checksumWriters
-- Turns whose lease is over and that no worker has taken over. A worker that takes one over meanwhile makes it
-- young.
DELETE FROM checksum_file_writer w WHERE w.begun_at < now() - interval '1 hour'
  AND NOT EXISTS (SELECT FROM lease l WHERE l.id = w.lease_id)

-- unprepared: losses
-- Losses that no longer matter: of workers that were seen since, of jobs that were done since, of
-- what is gone.
DELETE FROM job_loss x
WHERE EXISTS (SELECT FROM worker w WHERE w.id = x.worker_id AND w.last_seen > x.lost_at)
   OR NOT EXISTS (SELECT FROM catalog c WHERE c.id = x.catalog_id)
   OR CASE
       WHEN x.kind IN ({{jobOfSegment}}) THEN
           NOT EXISTS (SELECT FROM segment s WHERE s.id = x.target_id)
           OR EXISTS (SELECT FROM result r WHERE r.segment_id = x.target_id AND r.done
                      AND r.recorded_at > x.lost_at)
       WHEN x.kind = 'purge' THEN
           NOT EXISTS (SELECT FROM unneeded_file f WHERE f.catalog_id = x.target_id)
       WHEN x.kind = 'checksums' THEN
           NOT EXISTS (SELECT FROM directory d WHERE d.id = x.target_id)
           OR EXISTS (SELECT FROM catalog c WHERE c.id = x.catalog_id AND c.state = 'completed')
       ELSE NOT EXISTS (SELECT FROM asset a WHERE a.id = x.target_id)
           -- A recording that was continued since.
           OR EXISTS (SELECT FROM recording r WHERE r.asset_id = x.target_id
                      AND r.changed_at > x.lost_at)
           OR EXISTS (SELECT FROM asset a WHERE a.id = x.target_id AND a.state = 'completed'
                      AND a.changed_at > x.lost_at)
      END

-- unprepared: titleFetches
-- Fetches that no rule counts any more.
DELETE FROM title_fetch WHERE counts_until < now()

-- unprepared: workers
DELETE FROM worker WHERE last_seen < now() - interval '1 day'

-- unprepared: workerMinutes
DELETE FROM worker_minute WHERE minute < now() - make_interval(secs => @seconds::float8)

-- unprepared: runWork
DELETE FROM run_work WHERE reported_at < now() - make_interval(secs => @seconds::float8)

-- unprepared: tidyOrigins
-- Deletes cooldowns and quotas that are over, and decisions beyond the latest of each origin and worker.
WITH cooled AS (
    UPDATE origin SET cooldown_until = NULL
    WHERE cooldown_until < now() - interval '1 minute' AND breaker = 'closed'
), quotas AS (
    DELETE FROM quota WHERE ends_at < now() - interval '1 hour'
)
DELETE FROM origin_decision d USING (
    SELECT id, row_number() OVER (PARTITION BY origin_id, worker_id ORDER BY id DESC) AS place,
           decided_at
    FROM origin_decision
) AS n
WHERE d.id = n.id
  AND (n.place > CASE WHEN d.worker_id IS NULL THEN 20 ELSE 1 END
       OR n.decided_at < now() - interval '30 days')

-- unprepared: origins
-- Origins that no list names, without a cooldown, that did nothing to remember for so long.
WITH over AS MATERIALIZED (
    SELECT id FROM origin
    WHERE NOT is_listed AND NOT has_own_limits AND id <> 0
      AND noted_at < now() - make_interval(secs => @seconds::float8)
      AND (cooldown_until IS NULL OR cooldown_until < now())
    ORDER BY id FOR UPDATE SKIP LOCKED
), decisions AS (
    DELETE FROM origin_decision d USING over WHERE d.origin_id = over.id
)
DELETE FROM origin o USING over WHERE o.id = over.id

-- unprepared: rewrittenManifests
-- Those whose segments are gone.
DELETE FROM rewritten_manifest m
WHERE NOT EXISTS (SELECT FROM segment s WHERE s.id = m.segment_id)

-- unprepared: multipartFiles
-- Sites at which no worker has worked for a week: the next sweep there removes what is as old.
DELETE FROM abandoned_multipart_file WHERE noted_at < now() - interval '7 days'

-- unprepared: loadTests
WITH gone AS (
    DELETE FROM load_test WHERE state = 'ended' AND ended_at < now() - interval '1 day' RETURNING id
)
DELETE FROM load_interval i USING gone WHERE i.test_id = gone.id

-- unprepared: oldCatalogs
-- Catalogs that ended, or were never started, and that nothing was submitted to for so long. Those
-- with rights stay until the files are deleted, those with a source or a schedule of refreshes as long as
-- they have it.
SELECT id FROM catalog
WHERE state <> 'running' AND refresh_at IS NULL
    AND NOT EXISTS (SELECT FROM source s WHERE s.catalog_id = catalog.id)
    AND NOT EXISTS (SELECT FROM asset a WHERE a.catalog_id = catalog.id AND {{hasRights}})
    AND NOT EXISTS (SELECT FROM unneeded_file f WHERE f.catalog_id = catalog.id
                    AND f.due_at < 'infinity')
    AND greatest(ended_at, opened_at) < now() - make_interval(days => @days::int)
ORDER BY id LIMIT 100

-- fragment: isUnchanged
-- Catalog c has ended with @generation, and nothing was submitted to it since; true if that is null.
(@generation::int IS NULL
 OR c.generation = @generation AND c.opened_generation = @generation
    AND c.state IN ({{catalogSettled}}))

-- unprepared: forgetAssets
-- The catalog's lock is held. Forgets some of its assets with all that is known of them, a bounded
-- number of segments at a time, while it is as old as that, without rights, and, if @generation is not
-- null, ended and not submitted since. Answers how many.
WITH chosen AS MATERIALIZED (
    SELECT id FROM (
        SELECT a.id, sum(a.segments + 1) OVER (ORDER BY a.id) - a.segments - 1 AS before
        FROM (
            SELECT id, segments FROM asset
            WHERE catalog_id = (
                SELECT c.id FROM catalog c
                WHERE c.id = @catalog::bigint AND c.state <> 'running' AND {{isUnchanged}}
                  AND NOT EXISTS (SELECT FROM asset a WHERE a.catalog_id = c.id AND {{hasRights}})
                  AND greatest(ended_at, opened_at) < now() - make_interval(days => @days::int))
              AND state <> 'publishing'
            ORDER BY id LIMIT 5000
        ) AS a
    ) AS b WHERE before < 20000
), assets AS (
    DELETE FROM asset USING chosen WHERE asset.id = chosen.id RETURNING 1
), mirrors AS (
    DELETE FROM mirror USING chosen WHERE mirror.asset_id = chosen.id
), popularities AS (
    DELETE FROM popularity p USING chosen WHERE p.asset_id = chosen.id
), found AS (
    DELETE FROM found_file f USING chosen WHERE f.asset_id = chosen.id
), refreshed AS (
    DELETE FROM refreshed_file f USING chosen WHERE f.asset_id = chosen.id
), previous AS (
    DELETE FROM previous_file f USING chosen WHERE f.asset_id = chosen.id RETURNING f.bytes
), cache_answers AS (
    DELETE FROM cache_answer k USING chosen WHERE k.asset_id = chosen.id
), held AS (
    DELETE FROM unneeded_file f USING chosen WHERE f.asset_id = chosen.id AND f.due_at = 'infinity'
), recordings AS (
    DELETE FROM recording r USING chosen WHERE r.asset_id = chosen.id
), recorded AS (
    DELETE FROM recorded_segment r USING chosen WHERE r.asset_id = chosen.id
), segments AS (
    DELETE FROM segment USING chosen WHERE segment.asset_id = chosen.id RETURNING segment.id
), results AS (
    DELETE FROM result USING segments WHERE result.segment_id = segments.id RETURNING result.bytes
), multipart_files AS (
    DELETE FROM multipart_file USING segments WHERE multipart_file.segment_id = segments.id
), stored AS (
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT @catalog::bigint, -sum(bytes)
    FROM (SELECT bytes FROM results UNION ALL SELECT bytes FROM previous) AS g
    HAVING sum(bytes) > 0
)
SELECT count(*) AS assets FROM assets

-- unprepared: forgetCatalog
-- The catalog's lock is held. Forgets it, when it has no assets any more and is as old as that; its
-- directories go with it. A submission that is opened meanwhile keeps it, or makes it again.
WITH old AS (
    DELETE FROM catalog c
    WHERE c.id = @catalog::bigint AND c.state <> 'running' AND {{isUnchanged}}
      AND greatest(c.ended_at, c.opened_at) < now() - make_interval(days => @days::int)
      AND NOT EXISTS (SELECT FROM asset a WHERE a.catalog_id = c.id)
      AND NOT EXISTS (SELECT FROM unneeded_file f WHERE f.catalog_id = c.id AND f.due_at < 'infinity')
    RETURNING c.id
), lanes AS (
    DELETE FROM lane l USING old WHERE l.catalog_id = old.id
), tallies AS (
    DELETE FROM tally t USING old WHERE t.catalog_id = old.id
)
SELECT count(*) AS catalogs FROM old
