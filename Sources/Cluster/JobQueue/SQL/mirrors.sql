-- Jobs that move to the lanes of mirrors while their own origin is in a cooldown.

-- unprepared: lanes
-- Lanes after @after with work whose origin is in a cooldown: what of it has mirrors need not wait.
-- Costs a look at the origins that have a cooldown where there is none.
WITH alone AS MATERIALIZED (
    SELECT id FROM origin
    WHERE cooldown_until IS NOT NULL AND (cooldown_until > now() OR breaker = 'halfOpen')
)
SELECT l.id FROM lane l
WHERE EXISTS (SELECT FROM alone)
  AND l.id > @after::bigint AND l.ready_since IS NOT NULL AND l.rank IN (1, 3)
  AND l.origin_id IN (SELECT id FROM alone)
ORDER BY l.id LIMIT @limit::int

-- unprepared: jobs
-- Pairwise @lanes and jobs @after; @limit is by lane. The jobs after those that are not leased, in
-- order, with the schemes and hosts that they can be had from, a line each: their own URL's first;
-- null for those without mirrors, unless they wait for a neighbour.
SELECT r.lane, j.id, CASE WHEN x.urls IS NOT NULL OR s.origin_id <> l.origin_id THEN array_to_string(ARRAY(
           SELECT substring(u.url FROM '^[^/]*//[^/?#]*')
           FROM unnest(s.url || string_to_array(x.urls, E'\n')) WITH ORDINALITY AS u(url, place)
           ORDER BY u.place), E'\n') END AS origins
FROM unnest(@lanes::bigint[], @after::bigint[]) AS r(lane, after)
JOIN lane l ON l.id = r.lane
JOIN catalog c ON c.id = l.catalog_id
CROSS JOIN LATERAL (
    SELECT id, asset_id, segment_id, kind = 'fetch' AND whole_id IS NULL AS is_whole FROM job
    WHERE lane_id = r.lane AND id > greatest(r.after, coalesce(
        (SELECT last_id FROM span WHERE lane_id = r.lane ORDER BY last_id DESC LIMIT 1), 0))
    ORDER BY id LIMIT @limit::int
) AS j
-- OFFSET 0: for the jobs of some lanes a join reads all segments.
LEFT JOIN LATERAL (
    SELECT url, ordinal, mirrors, origin_id FROM segment WHERE j.is_whole AND id = j.segment_id OFFSET 0
) AS s ON true
LEFT JOIN LATERAL (
    -- Those of an asset are its file's, and not its sidecars'. OFFSET 0: their text is made once for both uses.
    SELECT array_to_string(urls, E'\n') AS urls FROM mirror
    WHERE c.has_mirrors AND s.ordinal = 0 AND asset_id = j.asset_id OFFSET 0
) AS m ON true
CROSS JOIN LATERAL (SELECT coalesce(m.urls, s.mirrors) AS urls) AS x
ORDER BY r.lane, j.id

-- name: unwell
-- Those of them that are in a cooldown, or that one job tries.
SELECT url FROM origin
WHERE url = ANY(@origins::text[]) AND (breaker <> 'closed' OR cooldown_until > now())

-- name: makeLanes
-- Pairwise. For each a lane like it of that origin, made.
INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
SELECT DISTINCT l.queue_id, l.catalog_id, o.id, l.rank, l.own_priority
FROM unnest(@lanes::bigint[], @origins::text[]) AS r(lane, url)
JOIN lane l ON l.id = r.lane JOIN origin o ON o.url = r.url
WHERE NOT EXISTS (SELECT FROM lane n WHERE (n.catalog_id, n.origin_id, n.rank, n.own_priority)
                  = (l.catalog_id, o.id, l.rank, l.own_priority))
ORDER BY 2, 3, 4, 5
ON CONFLICT DO NOTHING

-- name: lockLanes
-- Pairwise. Locks the lanes and those like them of these origins, skipping those that another
-- session has locked.
SELECT id FROM lane
WHERE id = ANY(@lanes::bigint[] || ARRAY(
    SELECT n.id FROM unnest(@lanes::bigint[], @origins::text[]) AS r(lane, url)
    JOIN lane l ON l.id = r.lane JOIN origin o ON o.url = r.url
    JOIN lane n ON (n.catalog_id, n.origin_id, n.rank, n.own_priority)
        = (l.catalog_id, o.id, l.rank, l.own_priority)))
ORDER BY id FOR UPDATE SKIP LOCKED

-- name: room
-- Pairwise @lanes and @origins; @locked are lanes that are locked, @jobs_per_lane keep a lane fed.
-- The lane that each leads to, and how many jobs that lane lacks.
SELECT r.lane, r.url, n.id AS target,
       @jobs_per_lane::bigint - (SELECT count(*) FROM (
           SELECT FROM job WHERE lane_id = n.id AND id > coalesce(
               (SELECT last_id FROM span WHERE lane_id = n.id ORDER BY last_id DESC LIMIT 1), 0)
           LIMIT @jobs_per_lane::bigint) AS j) AS room
FROM unnest(@lanes::bigint[], @origins::text[]) AS r(lane, url)
JOIN lane l ON l.id = r.lane JOIN origin o ON o.url = r.url
JOIN lane n ON (n.catalog_id, n.origin_id, n.rank, n.own_priority)
    = (l.catalog_id, o.id, l.rank, l.own_priority)
WHERE l.id = ANY(@locked::bigint[]) AND n.id = ANY(@locked::bigint[]) AND n.id <> l.id

-- name: move
-- By threes, in the order of the jobs: lanes, jobs of theirs and other lanes, all of which are
-- locked. Those of the jobs that are not leased go to the other lanes under new numbers. A job that
-- another session has locked stays: it may wait for these lanes.
WITH moved AS MATERIALIZED (
    SELECT r.target, j.*
    FROM unnest(@lanes::bigint[], @jobs::bigint[], @targets::bigint[]) AS r(lane, job, target)
    CROSS JOIN LATERAL (
        SELECT ctid AS tid, * FROM job WHERE lane_id = r.lane AND id = r.job AND id > coalesce(
            (SELECT last_id FROM span WHERE lane_id = r.lane ORDER BY last_id DESC LIMIT 1), 0)
        FOR UPDATE SKIP LOCKED
    ) AS j
), gone AS (
    DELETE FROM job WHERE ctid = ANY(ARRAY(SELECT tid FROM moved))
), placed AS (
    INSERT INTO job (lane_id, asset_id, segment_id, whole_id, directory_id, kind, attempt)
    SELECT target, asset_id, segment_id, whole_id, directory_id, kind, attempt
    FROM moved ORDER BY lane_id, id
), ready AS (
    UPDATE lane SET ready_since = now()
    WHERE id = ANY(ARRAY(SELECT DISTINCT target FROM moved)) AND ready_since IS NULL
        AND own_priority >= -1
)
SELECT id FROM moved

-- name: emptied
-- The lanes are locked. Those that have nothing left to hand out are marked so: no job of
-- theirs tries their origin.
UPDATE lane l SET ready_since = NULL
WHERE l.id = ANY(@lanes::bigint[]) AND NOT EXISTS (
    SELECT FROM job WHERE lane_id = l.id AND id > coalesce(
        (SELECT last_id FROM span WHERE lane_id = l.id ORDER BY last_id DESC LIMIT 1), 0))
