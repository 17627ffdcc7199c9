-- Reports of jobs: results of fetches, and jobs that are tried again.

-- fragment: settlingDone
WITH held AS MATERIALIZED (
    SELECT named.place, p.lane_id, greatest(p.first_id, named.first_job) AS first_id,
           least(p.last_id, named.last_job) AS last_id
    FROM unnest(leases, workers, first_jobs, last_jobs) WITH ORDINALITY
        AS named(lease, worker, first_job, last_job, place)
    {{spansOfHeldLeases}}
), settled AS MATERIALIZED (
    -- In the order of their numbers, as others lock them; what another report took meanwhile is not
    -- of these. Of several results of one the first counts.
    DELETE FROM job g USING (
        SELECT j.tid, j.lane_id, j.asset_id, j.segment_id, j.attempt, r.bytes, r.sha256, r.adopted,
               r.verified, r.validator, r.ms, r.due, r.place
        FROM unnest(jobs, lease_numbers, sizes, digests, are_adopted, are_verified, validators,
                    transfer_ms, refresh_seconds) WITH ORDINALITY
            AS r(job, lease, bytes, sha256, adopted, verified, validator, ms, due, place)
        -- Jobs next to each other are read in half the time of jobs one by one. A full join meets
        -- them with their results: only that is never a nested loop, whatever the statistics and
        -- settings are, which would read all jobs for each result. num_nulls keeps it a full one.
        -- OFFSET 0: with the statistics of a queue that was empty, a join reads all jobs first.
        FULL JOIN (
            SELECT p.place, p.lane_id, f.*
            FROM held p CROSS JOIN LATERAL (
                SELECT ctid AS tid, id, asset_id, segment_id, attempt FROM job
                WHERE lane_id = p.lane_id AND id BETWEEN p.first_id AND p.last_id
                  AND kind = 'fetch' AND whole_id IS NULL
                OFFSET 0
            ) AS f
        ) AS j ON j.id = r.job AND j.place = r.lease
        WHERE num_nulls(r.job, j.id) = 0
        ORDER BY r.place
    ) AS f
    WHERE g.ctid = f.tid AND g.kind = 'fetch' AND g.whole_id IS NULL
    RETURNING f.lane_id, f.asset_id, f.segment_id, f.attempt, f.bytes, f.sha256, f.adopted,
              f.verified, f.validator, f.ms, f.due, f.place
), recorded AS (
    INSERT INTO result (segment_id, done, bytes, sha256, attempts, verified, validator)
    SELECT segment_id, true, bytes, sha256, attempt + 1, verified, validator FROM settled

-- fragment: countingDone
), lanes AS MATERIALIZED (
    SELECT l.id, l.catalog_id, l.origin_id, o.failures > 0 OR o.breaker <> 'closed' AS is_unwell,
           t.done, t.bytes, t.adopted_bytes, t.ms, t.by_own_origin, t.by_others
    FROM (
        SELECT lane_id, count(*) AS done, sum(bytes)::bigint AS bytes,
               coalesce(sum(bytes) FILTER (WHERE adopted), 0)::bigint AS adopted_bytes,
               sum(ms)::bigint AS ms,
               bool_or(adopted IS NOT TRUE AND place <> ALL(served_numbers))
                   AS by_own_origin,
               bool_or(adopted IS NOT TRUE AND place = ANY(served_numbers)) AS by_others
        FROM settled GROUP BY lane_id
    ) AS t
    JOIN lane l ON l.id = t.lane_id
    JOIN origin o ON o.id = l.origin_id
), daily AS (
    -- For the figures of the day.
    INSERT INTO outcome (catalog_id, origin_id, done, bytes, reused_bytes, transfer_ms)
    SELECT catalog_id, origin_id, sum(done), sum(bytes), sum(adopted_bytes), sum(ms)
    FROM lanes GROUP BY catalog_id, origin_id
), assets AS MATERIALIZED (
    SELECT asset_id, min(lane_id) AS lane_id, count(*) AS done, sum(bytes)::bigint AS bytes,
           coalesce(sum(bytes) FILTER (WHERE adopted), 0)::bigint AS adopted_bytes,
           min(due) AS due
    FROM settled GROUP BY asset_id ORDER BY asset_id
), ended AS (
    -- Assets that lacked nothing else, as a file does, and those whose origins say when they are
    -- refreshed; the others are counted by the next fold.
    UPDATE asset a SET
        segments_done = a.segments_done + t.done,
        bytes = a.bytes + t.bytes,
        adopted_bytes = a.adopted_bytes + t.adopted_bytes,
        state = settled_state(a.segments, a.segments_done + t.done, a.segments_failed, a.verifies,
                              a.verifies_done, a.verifies_failed, a.may_lack),
        -- Sets it like the trigger keeping_begins, which then is not called.
        completed_at = CASE
            WHEN a.completed_at IS NULL AND a.keep_seconds IS NULL
             AND a.segments_done + t.done = a.segments AND a.verifies_done = a.verifies THEN now()
            ELSE a.completed_at END,
        refresh_at = CASE WHEN a.refresh_by_origin AND t.due IS NOT NULL
                          THEN now() + make_interval(secs => t.due) ELSE a.refresh_at END,
        changed_at = now()
    FROM assets t
    WHERE a.id = t.asset_id AND (a.segments_done + a.segments_failed + t.done >= a.segments
                                 OR a.refresh_by_origin AND t.due IS NOT NULL)
    RETURNING a.id, a.catalog_id, a.directory_id, a.state, a.failure_code, a.failure_message,
              t.done, t.bytes, t.adopted_bytes
), other_events AS (
    INSERT INTO event (kind, catalog_id, asset_id, code, message)
    SELECT 'asset.' || state, catalog_id, id, failure_code, failure_message FROM ended
    WHERE state <> 'completed'
), events AS (
    -- One row for all that were completed; readers number these up to the row's number.
    INSERT INTO event (id, kind, catalog_id, asset_ids) OVERRIDING SYSTEM VALUE
    SELECT max(n.number), 'asset.completed', n.catalog_id, array_agg(n.id ORDER BY n.number)
    FROM (
        SELECT e.catalog_id, e.id, nextval('event_id_seq') AS number FROM (
            SELECT catalog_id, id FROM ended WHERE state = 'completed' ORDER BY catalog_id, id
        ) AS e
    ) AS n
    GROUP BY n.catalog_id
), tallied AS (
    INSERT INTO tally (catalog_id, directory_id, assets_completed, assets_failed, segments_done,
                       bytes, adopted_bytes, stored_bytes)
    SELECT catalog_id, directory_id, count(*) FILTER (WHERE state = 'completed'),
           count(*) FILTER (WHERE state = 'failed'), sum(done), sum(bytes), sum(adopted_bytes),
           sum(bytes)
    FROM ended GROUP BY catalog_id, directory_id
), left_to_fold AS (
    INSERT INTO tally (catalog_id, asset_id, segments_done, bytes, adopted_bytes, stored_bytes)
    SELECT l.catalog_id, t.asset_id, t.done, t.bytes, t.adopted_bytes, t.bytes
    FROM assets t JOIN lanes l ON l.id = t.lane_id
    WHERE t.asset_id NOT IN (SELECT id FROM ended)
), totals AS MATERIALIZED (
    SELECT coalesce(sum(done), 0) = cardinality(jobs) AS are_all,
           array_agg(origin_id) FILTER (WHERE is_unwell AND by_own_origin) AS own,
           array_agg(origin_id) FILTER (WHERE is_unwell AND by_others) AS spared
    FROM lanes
)
SELECT own, spared,
       CASE WHEN cardinality(served_numbers) > 0 THEN ARRAY(
           SELECT o.id FROM unnest(served_numbers, served_origins) AS r(place, name)
           JOIN settled s ON s.place = r.place JOIN origin o ON o.url = r.name) END,
       CASE WHEN NOT are_all THEN ARRAY(SELECT place FROM settled) END
    INTO own_origins, spared_origins, serving_origins, places
FROM totals;

-- name: record_well_origins
-- Origins that served a job: their failures are forgotten, and their circuit breakers closed. Of
-- `spared`, others have served the jobs: what was to try such an origin did not, and the next job
-- may at once.
CREATE OR REPLACE FUNCTION record_well_origins(served bigint[], spared bigint[]) RETURNS void
LANGUAGE plpgsql {{plannedByIndex}} AS $$
#variable_conflict use_column
BEGIN
    WITH well AS (
        SELECT id, breaker, id = ANY(served) AS is_well FROM origin
        WHERE (failures > 0 OR breaker <> 'closed') AND id <> 0 AND id = ANY(served || spared)
        ORDER BY id FOR UPDATE
    ), healed AS (
        UPDATE origin o SET failures = 0, openings = 0, breaker = 'closed',
            cooldown_until = CASE WHEN w.breaker = 'closed' THEN o.cooldown_until END
        FROM well w WHERE o.id = w.id AND w.is_well
    ), untried AS (
        UPDATE origin o SET cooldown_until = now()
        FROM well w WHERE o.id = w.id AND NOT w.is_well AND w.breaker = 'halfOpen'
    )
    INSERT INTO origin_decision (origin_id, decision)
    SELECT id, 'closed' FROM well WHERE is_well AND breaker <> 'closed';
END
$$

-- name: settle_done
-- The short way of reports: those of the jobs that are fetches of whole objects and that the named
-- lease of that worker holds are done.
--
-- Pairwise the jobs, in the order of their numbers, the numbers of their leases, what is stored of
-- them, the milliseconds of their transfers, and the seconds after which their assets are due for a
-- refresh if origins say when, or null. `are_adopted`, `are_verified`, `validators` and
-- `refresh_seconds` are empty if all are false or null. Pairwise the leases, the workers that name
-- them, and the first and the last of the jobs that name the lease; pairwise the numbers of results
-- that are not the doing of their own origins alone, and whose doing they are. Answers with the numbers of those that are done, null for all; the others
-- are stale, or need other statements. A number is granted once: a job that still exists is held by
-- the lease whose span has it, if that lease still stands.
--
-- Segments have results before their fetches are done only where their catalog was started before:
-- a start makes no second fetch of a segment. Files that are held back for them lie under their keys only
-- there, and where the catalog has taken some over. Without any such catalog a plain insert records the
-- results, which takes a sixth less time than one that looks for earlier ones.
CREATE OR REPLACE FUNCTION settle_done(
    jobs bigint[], lease_numbers bigint[], sizes bigint[], digests text[], are_adopted bool[],
    are_verified bool[], validators text[], transfer_ms bigint[], refresh_seconds bigint[],
    leases uuid[], workers uuid[], first_jobs bigint[], last_jobs bigint[],
    served_numbers bigint[], served_origins text[], OUT places bigint[])
LANGUAGE plpgsql {{plannedByIndex}} AS $$
#variable_conflict use_column
DECLARE
    own_origins bigint[]; spared_origins bigint[]; serving_origins bigint[];
BEGIN
    -- By arrays, which are looked up one after the other whatever the statistics say.
    IF EXISTS (
        SELECT FROM catalog WHERE (starts > 1 OR has_taken_files) AND id = ANY(ARRAY(
            SELECT catalog_id FROM lane WHERE id = ANY(ARRAY(
                SELECT lane_id FROM span WHERE lease_id = ANY(leases)))))
    ) THEN
{{settlingDone}}
        {{replacingResults}}
), stored_now AS (
    SELECT asset_id, segment_id FROM settled
), {{storedAgain}}, replaced AS (
    -- What was recorded of the same segments before is stored no longer.
    INSERT INTO tally (catalog_id, stored_bytes)
    SELECT l.catalog_id, -sum(t.bytes)
    FROM (
        SELECT s.lane_id,
               sum((SELECT bytes FROM result WHERE segment_id = s.segment_id AND done)) AS bytes
        FROM settled s GROUP BY s.lane_id
    ) AS t
    JOIN lane l ON l.id = t.lane_id
    GROUP BY l.catalog_id HAVING sum(t.bytes) > 0
{{countingDone}}
    ELSE
{{settlingDone}}
{{countingDone}}
    END IF;
    IF own_origins IS NOT NULL OR spared_origins IS NOT NULL OR serving_origins <> '{}' THEN
        PERFORM record_well_origins(coalesce(own_origins || serving_origins, '{}'),
                                    spared_origins);
    END IF;
END
$$

-- name: reported_jobs
-- Pairwise jobs, in the order of their numbers, and leases. Those that the named lease of this
-- worker holds, locked with their assets, each in the order of numbers: the fence. Whatever is
-- missing is stale. A number is granted once, so a job that is still there is held by the lease
-- whose span has it, if that lease still stands. Its segment may be younger than this statement's
-- snapshot, when a split came first: it is then unseen.
CREATE OR REPLACE FUNCTION reported_jobs(jobs bigint[], leases uuid[], of_worker uuid)
RETURNS TABLE (id bigint, kind text, attempt int, asset_id bigint, segment_id bigint, lane_id bigint,
               parent_id bigint, range_length bigint, whole_attempt smallint, is_unseen boolean,
               is_given_up boolean, is_at_mirrors boolean, is_renewal boolean)
LANGUAGE plpgsql {{plannedByIndex}} AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH spans AS MATERIALIZED (
        SELECT p.lease_id, p.lane_id, p.first_id, p.last_id
        FROM (SELECT DISTINCT lease, of_worker AS worker
              FROM unnest(leases) AS u(lease)) AS named
        {{spansOfHeldLeases}}
    ), held AS MATERIALIZED (
        SELECT j.*
        FROM (
            SELECT p.lane_id, r.job
            FROM unnest(jobs, leases) AS r(job, lease)
            JOIN spans p ON p.lease_id = r.lease AND r.job BETWEEN p.first_id AND p.last_id
            ORDER BY r.job
        ) AS r
        CROSS JOIN LATERAL (
            SELECT * FROM job WHERE lane_id = r.lane_id AND id = r.job FOR UPDATE
        ) AS j
    {{heldJobs}};
END
$$

-- name: settle_fetches
-- Fetches that ended, done or failed for good, pairwise: results in, jobs out, and the counts of
-- their assets. The jobs are locked by the caller.
CREATE OR REPLACE FUNCTION settle_fetches(
    lanes bigint[], jobs bigint[], are_done bool[], sizes bigint[], digests text[],
    are_adopted bool[], codes text[], messages text[], are_verified bool[], validators text[],
    OUT ended bigint)
LANGUAGE plpgsql {{plannedByIndex}} AS $$
#variable_conflict use_column
BEGIN
    WITH settled AS MATERIALIZED (
        SELECT j.tid, j.asset_id, j.segment_id, j.attempt, r.done, r.bytes, r.sha256, r.adopted,
               r.code, r.message, r.verified, r.validator
        FROM unnest(lanes, jobs, are_done, sizes, digests, are_adopted, codes, messages,
                    are_verified, validators)
             AS r(lane, job, done, bytes, sha256, adopted, code, message, verified, validator)
        {{jobOfEach}}
    ), gone AS (
        DELETE FROM job WHERE ctid = ANY(ARRAY(SELECT tid FROM settled))
    ), {{settledFetches}}
    SELECT count(*) INTO ended FROM settled;
END
$$

-- name: retry_jobs
-- Jobs that are tried again, which the caller has locked. Pairwise their delays in seconds, the
-- attempts that they have then had, and whether each counts as a retry; `codes` and `messages` of
-- what else than time they wait for, or null; whether they wait for the end of their own origin's
-- cooldown; whether they are to be tried alone from now on, as what was already is; the reasons for
-- which they are tried again, or null; the origin's answer to those that wait for a fresh URL,
-- which is not a matter of time, or null. They wait under new numbers, ahead of what was never
-- tried, or behind it when it is not just time that they wait for; with the priority that their
-- asset has by now. What was moved to a mirror's lane waits for its own origin again.
CREATE OR REPLACE FUNCTION retry_jobs(lanes bigint[], jobs bigint[], delays float8[],
                                      attempts int[], are_counted bool[], codes text[],
                                      messages text[], await_own_origins bool[], isolate bool[],
                                      reasons text[], refused_codes text[],
                                      refused_messages text[]) RETURNS void
LANGUAGE plpgsql {{plannedByIndex}} AS $$
#variable_conflict use_column
BEGIN
    WITH retried AS MATERIALIZED (
        SELECT j.tid, j.lane_id, j.id, j.asset_id, j.segment_id, j.whole_id, j.directory_id, j.kind,
               r.seconds, r.attempt, r.counts, r.code, r.message, r.awaits, r.isolates, r.reason,
               r.refused, r.refused_message
        FROM unnest(lanes, jobs, delays, attempts, are_counted, codes, messages,
                    await_own_origins, isolate, reasons, refused_codes, refused_messages)
            AS r(lane, job, seconds, attempt, counts, code, message, awaits, isolates, reason,
                 refused, refused_message)
        {{jobOfEach}}
    ), gone AS (
        DELETE FROM job WHERE ctid = ANY(ARRAY(SELECT tid FROM retried))
    ), turns AS (
        DELETE FROM checksum_file_writer w USING retried g JOIN directory d ON d.id = g.directory_id
        WHERE g.kind = 'checksums' AND w.site_id = d.site_id AND w.path = d.path
          AND w.lane_id = g.lane_id AND w.job_id = g.id
    ), delayed AS (
        INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                                 segment_id, whole_id, directory_id, kind, attempt, available_at,
                                 failure_code, failure_message, retry_code, refused_code,
                                 refused_message)
        SELECT l.queue_id, l.catalog_id, n.origin_id,
               CASE WHEN g.isolates OR l.rank = 4 THEN 4
                    WHEN l.rank = -1 THEN -1
                    WHEN g.code IS NULL THEN least(l.rank, 1) ELSE 3 END,
               {{ownPriority}},
               g.asset_id,
               g.segment_id, g.whole_id, g.directory_id, g.kind, g.attempt,
               CASE WHEN g.refused IS NOT NULL THEN 'infinity' ELSE
                   greatest(now() + make_interval(secs => g.seconds), CASE WHEN g.awaits THEN
                       (SELECT cooldown_until FROM origin WHERE id = n.origin_id) END) END,
               g.code, g.message, g.reason, g.refused, g.refused_message
        FROM retried g JOIN lane l ON l.id = g.lane_id LEFT JOIN asset a ON a.id = g.asset_id
        CROSS JOIN LATERAL (
            -- A publication needs no origin: it waits for none.
            SELECT CASE g.kind WHEN 'publish' THEN 0 WHEN 'fetch' THEN coalesce(
                (SELECT origin_id FROM segment WHERE id = g.segment_id), l.origin_id)
                ELSE l.origin_id END AS origin_id
        ) AS n
        ORDER BY g.id
    ), assets AS (
        UPDATE asset a SET retries = a.retries + t.n
        FROM (SELECT asset_id, count(*) AS n FROM retried WHERE counts
              GROUP BY asset_id ORDER BY asset_id) AS t
        WHERE a.id = t.asset_id
    )
    INSERT INTO tally (catalog_id, retries)
    SELECT l.catalog_id, count(*) FROM retried g JOIN lane l ON l.id = g.lane_id
    WHERE g.counts GROUP BY l.catalog_id;
END
$$
