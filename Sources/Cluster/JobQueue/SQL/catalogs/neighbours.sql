-- Fills from neighbours: assets wait until another site has stored them, and are fetched from there.

-- name: sites
-- The sites of storage URLs, in order; null for one that there is not.
SELECT u.url, t.id
FROM unnest(@urls::text[]) WITH ORDINALITY AS u(url, place)
LEFT JOIN site t ON t.storage_url = u.url ORDER BY u.place

-- name: choose
-- The neighbours of the submission that is opened, @sites in order: they are those of the catalog from
-- its start on.
UPDATE catalog SET opened_neighbours = @sites::bigint[] WHERE id = @catalog::bigint

-- name: dropFormer
-- A start: neighbours of the submission before, where this one has others.
DELETE FROM neighbour n USING catalog c
WHERE c.id = @catalog::bigint AND n.catalog_id = c.id
  AND c.opened_neighbours <> ARRAY(SELECT e.site_id FROM neighbour e WHERE e.catalog_id = c.id
                                   ORDER BY e.place)

-- name: set
-- A start: the neighbours of the submission, unless the one before had the same.
WITH added AS (
    INSERT INTO neighbour (catalog_id, place, site_id)
    SELECT c.id, u.place - 1, u.id
    FROM catalog c, unnest(c.opened_neighbours) WITH ORDINALITY AS u(id, place)
    WHERE c.id = @catalog::bigint
    ON CONFLICT DO NOTHING
)
UPDATE catalog SET has_neighbours = true
WHERE id = @catalog::bigint AND NOT has_neighbours AND opened_neighbours <> '{}'

-- name: await
-- A start: assets that are to be fetched wait for a neighbour, if any has a URL under which it
-- serves its files. None of them has jobs yet.
WITH begun AS (
    UPDATE neighbour SET active_at = now() WHERE catalog_id = @catalog::bigint
)
UPDATE asset SET neighbour_id = NULL, awaits_neighbour = EXISTS (
    SELECT FROM neighbour n JOIN site t ON t.id = n.site_id
    WHERE n.catalog_id = @catalog::bigint AND t.serves_origin_id IS NOT NULL)
WHERE catalog_id = @catalog::bigint AND generation = @generation::int
  AND state IN ({{assetStartable}}) AND state <> 'completed'

-- name: noteActive
-- Notes which neighbours of catalogs with waiting assets work on theirs: a worker holds jobs. Those of a
-- catalog that is just started are noted next time.
WITH active AS MATERIALIZED (
    SELECT n.catalog_id, n.place FROM neighbour n
    WHERE n.active_at < now() - interval '2 seconds'
      AND EXISTS (SELECT FROM asset WHERE catalog_id = n.catalog_id AND awaits_neighbour)
      AND EXISTS (
        SELECT FROM catalog c
        JOIN catalog e ON e.site_id = n.site_id AND e.name = c.name AND e.state = 'running'
        JOIN lane l ON l.catalog_id = e.id
        JOIN span p ON p.lane_id = l.id
        JOIN lease x ON x.id = p.lease_id AND x.expires_at > now()
        WHERE c.id = n.catalog_id
          AND EXISTS (SELECT FROM job WHERE lane_id = p.lane_id
                      AND id BETWEEN p.first_id AND p.last_id))
    ORDER BY n.catalog_id, n.place FOR NO KEY UPDATE OF n SKIP LOCKED
)
UPDATE neighbour n SET active_at = now() FROM active a
WHERE (n.catalog_id, n.place) = (a.catalog_id, a.place)

-- name: lanes
-- Lanes after @after of catalogs that have had neighbours, in which jobs wait for these.
SELECT l.id FROM catalog c JOIN lane l ON l.catalog_id = c.id
WHERE c.has_neighbours AND c.state = 'running' AND l.own_priority = -2 AND l.id > @after::bigint
  AND EXISTS (SELECT FROM job WHERE lane_id = l.id)
ORDER BY l.id LIMIT @limit::int

-- fragment: pageOfJobs
-- Pairwise @lanes and jobs @after; @limit is by lane. The jobs j after those, in order, with their
-- assets a.
FROM unnest(@lanes::bigint[], @after::bigint[]) AS r(lane, after)
CROSS JOIN LATERAL (
    SELECT * FROM job
    WHERE lane_id = r.lane AND id > greatest(r.after, coalesce(
        (SELECT last_id FROM span WHERE lane_id = r.lane ORDER BY last_id DESC LIMIT 1), 0))
    ORDER BY id LIMIT @limit::int
) AS j

-- unprepared: decide
-- Assets of these jobs that need not wait any more: a neighbour has stored the same, or none is expected to.
-- A neighbour is expected to as long as its workers are busy with the catalog, and @patience_seconds longer.
-- A title needs the same manifests; they are read from the origin.
WITH waiting AS MATERIALIZED (
    SELECT DISTINCT j.asset_id AS id {{pageOfJobs}}
), decided AS MATERIALIZED (
    SELECT a.id, o.stored
    FROM waiting w
    JOIN asset a ON a.id = w.id
    JOIN catalog c ON c.id = a.catalog_id
    CROSS JOIN LATERAL (
        SELECT (array_agg(b.id ORDER BY n.place) FILTER (
                    WHERE b.state IN ({{assetStored}}))) AS stored,
               coalesce(bool_or(b.state IN ({{assetUnsettled}})
                                AND b.state <> 'refreshing' AND NOT b.is_paused
                                AND NOT (b.is_waiting AND b.not_before > now())
                                AND (greatest(n.active_at, c.not_before)
                                        > now() - make_interval(secs => @patience_seconds::float8)
                                     -- It waits in its turn; the order rules out a circle.
                                     OR b.awaits_neighbour AND b.state <> 'interrupted'
                                        AND e.state = 'running' AND e.id < c.id)),
                        false) AS is_expected
        FROM neighbour n
        JOIN site t ON t.id = n.site_id AND t.serves_origin_id IS NOT NULL
        JOIN catalog e ON e.site_id = n.site_id AND e.name = c.name
        JOIN asset b ON b.catalog_id = e.id AND b.name = a.name
        WHERE n.catalog_id = c.id AND (b.key, b.kind, b.url) = (a.key, a.kind, a.url)
    ) AS o
    WHERE a.awaits_neighbour AND NOT a.is_paused AND NOT a.is_waiting
      AND (a.kind = 'file' OR a.resolved)
      AND (o.stored IS NOT NULL OR NOT o.is_expected)
), chosen AS MATERIALIZED (
    SELECT d.id, CASE WHEN d.stored IS NOT NULL THEN (
        SELECT u.id FROM unnest(d.stored) WITH ORDINALITY AS u(id, place)
        WHERE NOT EXISTS (
            SELECT FROM segment s
            WHERE s.asset_id = d.id AND s.part = 0 AND s.role = 'playlist'
              AND s.ordinal < {{firstSidecar}}
              AND NOT EXISTS (
                  SELECT FROM segment g
                  WHERE g.asset_id = u.id AND g.ordinal = s.ordinal AND g.part = 0
                    AND g.key = s.key AND g.expected_sha256 = s.expected_sha256))
        ORDER BY u.place LIMIT 1) END AS neighbour_id
    FROM decided d
), locked AS MATERIALIZED (
    SELECT a.id FROM asset a JOIN chosen h ON h.id = a.id
    ORDER BY a.id FOR NO KEY UPDATE OF a SKIP LOCKED
), changed AS (
    UPDATE asset a SET awaits_neighbour = false, neighbour_id = h.neighbour_id
    FROM locked k JOIN chosen h ON h.id = k.id
    WHERE a.id = k.id AND a.awaits_neighbour
    RETURNING a.catalog_id
), waiting_on AS MATERIALIZED (
    -- Assets that wait for them in turn continue to wait.
    SELECT n.catalog_id, n.place
    FROM (SELECT DISTINCT catalog_id FROM changed) AS d
    JOIN catalog e ON e.id = d.catalog_id
    JOIN neighbour n ON n.site_id = e.site_id
    WHERE EXISTS (SELECT FROM catalog c WHERE c.id = n.catalog_id AND c.name = e.name)
    ORDER BY n.catalog_id, n.place FOR NO KEY UPDATE OF n SKIP LOCKED
), active AS (
    UPDATE neighbour n SET active_at = now() FROM waiting_on w
    WHERE (n.catalog_id, n.place) = (w.catalog_id, w.place)
)
SELECT count(*) AS assets FROM changed

-- unprepared: targetLanes
-- The jobs with the lanes where they belong, by origin and priority; null for those that wait. What
-- a neighbour has stored belongs to the lane of its origin. Manifests are read at once.
SELECT r.lane, j.id, CASE WHEN n.own_priority >= -1 THEN coalesce(f.origin_id, l.origin_id) END
           AS origin_id, n.own_priority
{{pageOfJobs}}
JOIN lane l ON l.id = r.lane
JOIN asset a ON a.id = j.asset_id
CROSS JOIN LATERAL (
    SELECT (CASE WHEN j.kind = 'resolve' AND NOT a.is_paused AND NOT a.is_waiting
                 THEN coalesce(a.priority, -1) ELSE {{ownPriority}} END)::bigint AS own_priority
) AS n
-- OFFSET 0: for the jobs of some lanes a join reads all segments.
LEFT JOIN LATERAL (
    SELECT * FROM segment
    WHERE a.neighbour_id IS NOT NULL AND j.kind = 'fetch' AND j.whole_id IS NULL
      AND id = j.segment_id OFFSET 0
) AS s ON true
LEFT JOIN LATERAL (
    SELECT t.serves_origin_id AS origin_id
    FROM ({{storedByNeighbour}}) AS e
    JOIN site t ON t.id = e.site_id
    WHERE s.id IS NOT NULL
) AS f ON true
ORDER BY r.lane, j.id

-- name: makeLanes
-- By threes. For each lane one like it, of that origin and priority, made.
INSERT INTO lane (queue_id, catalog_id, origin_id, rank, own_priority)
SELECT DISTINCT l.queue_id, l.catalog_id, r.origin, l.rank, r.priority
FROM unnest(@lanes::bigint[], @origins::bigint[], @priorities::int[]) AS r(lane, origin, priority)
JOIN lane l ON l.id = r.lane
ORDER BY 2, 3, 4, 5
ON CONFLICT DO NOTHING

-- name: targets
-- By threes. The lanes that `makeLanes` made or found.
SELECT r.lane, r.origin AS origin_id, r.priority::bigint AS own_priority, n.id AS target
FROM unnest(@lanes::bigint[], @origins::bigint[], @priorities::int[]) AS r(lane, origin, priority)
JOIN lane l ON l.id = r.lane
JOIN lane n ON (n.catalog_id, n.origin_id, n.rank, n.own_priority)
    = (l.catalog_id, r.origin, l.rank, r.priority)

-- name: lockLanes
-- Locks lanes, skipping those that another session has locked.
SELECT id FROM lane WHERE id = ANY(@lanes::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED
