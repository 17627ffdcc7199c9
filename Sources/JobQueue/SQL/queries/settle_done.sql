-- $1 jobs in the order of their numbers, $2 the places of their leases in $6, $3 bytes, $4 sha256,
-- $5 adopted, $8 verified (pairwise), $6 leases and $7 the workers that name them (pairwise), pairwise $9 the
-- places of results that are not the doing of their own origins alone and $10 the origins whose doing they
-- are, $11 validators (pairwise with $1). The short
-- way of reports: those of the jobs that are fetches of whole objects and that the named lease of that worker
-- holds are done, in one statement. Answers with their count, and where that is not all, with their
-- places; the others are stale, or take the long way. A number is granted once: a job that is still
-- there is held by the lease whose span has it, if that lease still stands.
WITH held AS MATERIALIZED (
    -- OFFSET 0 keeps the way from the leases that are named, by index, whatever the statistics say.
    SELECT named.place, p.lane_id, p.first_id, p.last_id
    FROM unnest($6::uuid[], $7::uuid[]) WITH ORDINALITY AS named(lease, worker, place)
    CROSS JOIN LATERAL (
        SELECT FROM lease WHERE id = named.lease AND worker_id = named.worker OFFSET 0
    ) AS l
    CROSS JOIN LATERAL (SELECT * FROM span WHERE lease_id = named.lease OFFSET 0) AS p
), reported AS MATERIALIZED (
    -- Numbers of several lanes lie between each other: one may be in a span of each.
    SELECT p.lane_id, r.*
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bool[],
                $8::bool[], $11::text[])
        WITH ORDINALITY AS r(job, lease, bytes, sha256, adopted, verified, validator, place)
    JOIN held p ON p.place = r.lease AND r.job BETWEEN p.first_id AND p.last_id
), found AS MATERIALIZED (
    -- Statistics of a queue that was empty have a join look through all jobs for each that is reported.
    -- Of several results of one the first counts.
    SELECT DISTINCT ON (r.job) j.tid, r.lane_id, r.job, j.asset_id, j.segment_id, j.attempt, r.bytes,
           r.sha256, r.adopted, r.verified, r.validator, r.place
    FROM reported r
    CROSS JOIN LATERAL (
        SELECT ctid AS tid, asset_id, segment_id, attempt FROM job
        WHERE lane_id = r.lane_id AND id = r.job AND kind = 'fetch' AND whole_id IS NULL OFFSET 0
    ) AS j
    ORDER BY r.job, r.place
), settled AS MATERIALIZED (
    -- One by one in the order of their numbers, as others lock them; what another report took meanwhile is
    -- not of these.
    DELETE FROM job g USING found f WHERE g.ctid = f.tid AND g.kind = 'fetch' AND g.whole_id IS NULL
    RETURNING f.*
), served AS MATERIALIZED (
    -- Origins that served something, and those whose jobs others have served.
    SELECT l.origin_id AS id, s.is_own
    FROM (SELECT DISTINCT lane_id, place <> ALL($9::bigint[]) AS is_own FROM settled
          WHERE NOT adopted) AS s
    JOIN lane l ON l.id = s.lane_id
    UNION ALL
    SELECT o.id, true FROM unnest($9::bigint[], $10::text[]) AS r(place, name)
    JOIN settled s ON s.place = r.place JOIN origin o ON o.url = r.name
), well AS (
    SELECT o.id, o.breaker, o.id = ANY(ARRAY(SELECT id FROM served WHERE is_own)) AS is_well
    FROM origin o
    WHERE (o.failures > 0 OR o.breaker <> 'closed') AND o.id <> 0
      AND o.id = ANY(ARRAY(SELECT id FROM served))
    ORDER BY o.id FOR UPDATE
), healed AS (
    UPDATE origin o SET failures = 0, openings = 0, breaker = 'closed',
        cooldown_until = CASE WHEN w.breaker = 'closed' THEN o.cooldown_until END
    FROM well w WHERE o.id = w.id AND w.is_well
), untried AS (
    -- The job that was to try it was served by another: the next one may try it at once.
    UPDATE origin o SET cooldown_until = now()
    FROM well w WHERE o.id = w.id AND NOT w.is_well AND w.breaker = 'halfOpen'
), noted AS (
    INSERT INTO origin_decision (origin_id, decision, reason)
    SELECT id, 'closed', 'a job succeeded' FROM well WHERE is_well AND breaker <> 'closed'
), recorded AS (
    INSERT INTO result (segment_id, done, bytes, sha256, attempts, verified, validator)
    SELECT segment_id, true, bytes, sha256, attempt + 1, verified, validator FROM settled {{replacingResults}}
), counts AS MATERIALIZED (
    SELECT asset_id, count(*) AS done, sum(bytes) AS bytes,
           coalesce(sum(bytes) FILTER (WHERE adopted), 0) AS adopted_bytes
    FROM settled GROUP BY asset_id ORDER BY asset_id
), ended AS (
    -- Assets that lacked nothing else, as a file does; the others are counted by the next fold.
    UPDATE asset a SET
        segments_done = a.segments_done + t.done,
        bytes = a.bytes + t.bytes,
        adopted_bytes = a.adopted_bytes + t.adopted_bytes,
        state = CASE WHEN a.verifies_done + a.verifies_failed < a.verifies THEN 'verifying'
                     WHEN a.segments_failed + a.verifies_failed > 0 THEN 'failed'
                     ELSE 'completed' END,
        changed_at = now()
    FROM counts t
    WHERE a.id = t.asset_id AND a.segments_done + a.segments_failed + t.done >= a.segments
    RETURNING a.id, a.catalog_id, a.directory_id, a.state, t.done, t.bytes, t.adopted_bytes
), tallied AS (
    INSERT INTO tally (catalog_id, directory_id, assets_completed, assets_failed, segments_done,
                       bytes, adopted_bytes)
    SELECT catalog_id, directory_id, count(*) FILTER (WHERE state = 'completed'),
           count(*) FILTER (WHERE state = 'failed'), sum(done), sum(bytes), sum(adopted_bytes)
    FROM ended GROUP BY catalog_id, directory_id
), left_to_fold AS (
    INSERT INTO tally (catalog_id, asset_id, segments_done, bytes, adopted_bytes)
    SELECT a.catalog_id, t.asset_id, t.done, t.bytes, t.adopted_bytes
    FROM counts t CROSS JOIN LATERAL (
        SELECT catalog_id FROM asset WHERE id = t.asset_id OFFSET 0
    ) AS a
    WHERE t.asset_id NOT IN (SELECT id FROM ended)
)
SELECT count(*),
       CASE WHEN count(*) < cardinality($1::bigint[]) THEN coalesce(array_agg(place), '{}') END
FROM settled
