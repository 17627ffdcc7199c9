-- $1 lanes and $2 jobs, pairwise, $3 seconds to wait, $4 the tries they have then had, $5 whether it
-- counts as a retry, $6 code and $7 message of what else than time they wait for, or null, $8 whether
-- they wait until their own origin is no longer left alone, $9 whether they are to be tried alone from now on,
-- as what was already is, $10 the code of what they are tried again for, or null, $11 code and $12 message of the origin's
-- answer to those that wait for a fresh URL, which is not a matter of time, or null. They wait under new numbers, ahead of what was never
-- tried, or behind it when it is not just time that they wait for; with the priority that their asset has by now.
-- What was moved to a mirror's lane waits for its own origin again.
WITH retried AS MATERIALIZED (
    SELECT j.tid, j.lane_id, j.id, j.asset_id, j.segment_id, j.whole_id, j.directory_id, j.kind,
           r.seconds, r.attempt, r.counts, r.code, r.message, r.awaits, r.isolates, r.reason,
           r.refused, r.refused_message
    FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::int[], $5::bool[],
                $6::text[], $7::text[], $8::bool[], $9::bool[], $10::text[], $11::text[], $12::text[])
        AS r(lane, job, seconds, attempt, counts, code, message, awaits, isolates, reason, refused,
             refused_message)
    {{jobOfEach}}
), gone AS (
    DELETE FROM job WHERE ctid = ANY(ARRAY(SELECT tid FROM retried))
), turns AS (
    DELETE FROM sums_writer w USING retried g JOIN directory d ON d.id = g.directory_id
    WHERE g.kind = 'sums' AND w.site_id = d.site_id AND w.path = d.path
      AND w.lane_id = g.lane_id AND w.job_id = g.id
), delayed AS (
    INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id,
                             segment_id, whole_id, directory_id, kind, attempt, available_at,
                             failure_code, failure_message, retry_code, refused_code, refused_message)
    SELECT l.queue_id, l.catalog_id, n.origin_id,
           CASE WHEN g.isolates OR l.rank = 4 THEN 4
                WHEN g.code IS NULL THEN least(l.rank, 1) ELSE 3 END,
           coalesce(a.priority, -1),
           g.asset_id,
           g.segment_id, g.whole_id, g.directory_id, g.kind, g.attempt,
           CASE WHEN g.refused IS NOT NULL THEN 'infinity' ELSE
               greatest(now() + make_interval(secs => g.seconds), CASE WHEN g.awaits THEN
                   (SELECT cooldown_until FROM origin WHERE id = n.origin_id) END) END,
           g.code, g.message, g.reason, g.refused, g.refused_message
    FROM retried g JOIN lane l ON l.id = g.lane_id LEFT JOIN asset a ON a.id = g.asset_id
    CROSS JOIN LATERAL (
        -- A switch needs no origin: it waits for none.
        SELECT CASE g.kind WHEN 'switch' THEN 0 WHEN 'fetch' THEN coalesce(
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
WHERE g.counts GROUP BY l.catalog_id
