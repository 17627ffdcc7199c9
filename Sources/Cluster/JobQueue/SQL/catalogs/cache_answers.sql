-- Records of how the POPs of a cache served the objects of catalogs.

-- name: note
-- Pairwise segments that a POP has served, and its answers.
INSERT INTO cache_answer AS k (asset_id, key, state, age_seconds, detail)
SELECT s.asset_id, s.key, n.state, n.age, n.detail
FROM unnest(@segments::bigint[], @states::text[], @ages::bigint[], @details::text[])
    AS n(segment, state, age, detail)
JOIN segment s ON s.id = n.segment
ORDER BY s.id
ON CONFLICT (asset_id, hashtextextended(key, 0)) DO UPDATE SET
    was_cached = k.state IN ({{cacheStored}}), requests = k.requests + 1, state = excluded.state,
    age_seconds = excluded.age_seconds, detail = excluded.detail, answered_at = now()

-- fragment: objectsOfCatalog
-- The objects of a catalog's present list, with their POP and what they share with other POPs'.
SELECT s.id, s.asset_id, split_part(s.key, '/', 1) AS pop,
       substr(s.key, length(split_part(s.key, '/', 1)) + 2) AS path,
       r.done, r.bytes, r.sha256, k.state, k.age_seconds, k.detail, k.requests, k.was_cached
FROM catalog c
JOIN asset a ON a.catalog_id = c.id AND a.generation = c.generation
JOIN segment s ON s.asset_id = a.id AND s.part = 0
LEFT JOIN result r ON r.segment_id = s.id
LEFT JOIN cache_answer k ON k.asset_id = a.id AND k.key = s.key
    AND hashtextextended(k.key, 0) = hashtextextended(s.key, 0)
WHERE c.id = @catalog::bigint

-- fragment: isNotCached
-- An object that the cache should have kept, had it been able to: a first request may miss.
(k.done AND (k.state IN ({{cacheUnstored}}) OR k.requests > 1 AND k.state <> 'hit'))

-- name: pops
-- Counts by POP. Titles whose manifest could not be read count as one failed object.
WITH objects AS MATERIALIZED (
    {{objectsOfCatalog}}
), differing AS MATERIALIZED (
    SELECT path FROM objects WHERE done GROUP BY path HAVING count(DISTINCT sha256) > 1
), counted AS (
    SELECT k.pop, count(*) AS objects,
           count(*) FILTER (WHERE k.done AND k.state = 'hit') AS hits,
           count(*) FILTER (WHERE k.done AND k.state = 'stored') AS stored,
           count(*) FILTER (WHERE k.done AND k.state = 'miss') AS misses,
           count(*) FILTER (WHERE k.done AND k.state = 'notStored') AS not_stored,
           count(*) FILTER (WHERE k.done AND coalesce(k.state, 'unknown') = 'unknown') AS unknown,
           count(*) FILTER (WHERE NOT k.done) AS failed,
           count(*) FILTER (WHERE {{isNotCached}}) AS not_cached,
           count(*) FILTER (WHERE {{isNotCached}} AND k.was_cached) AS evicted,
           count(*) FILTER (WHERE k.done AND k.path IN (SELECT path FROM differing)) AS differing,
           coalesce(sum(k.bytes) FILTER (WHERE k.done), 0)::bigint AS bytes
    FROM objects k GROUP BY k.pop
    UNION ALL
    SELECT split_part(a.key, '/', 1), count(*), 0, 0, 0, 0, 0, count(*), 0, 0, 0, 0
    FROM catalog c JOIN asset a ON a.catalog_id = c.id AND a.generation = c.generation
    WHERE c.id = @catalog::bigint AND a.state = 'failed'
      AND NOT EXISTS (SELECT FROM segment s WHERE s.asset_id = a.id)
    GROUP BY 1
)
SELECT pop, sum(objects)::bigint AS objects, sum(hits)::bigint AS hits,
       sum(stored)::bigint AS stored, sum(misses)::bigint AS misses,
       sum(not_stored)::bigint AS not_stored, sum(unknown)::bigint AS unknown,
       sum(failed)::bigint AS failed, sum(not_cached)::bigint AS not_cached,
       sum(evicted)::bigint AS evicted, sum(differing)::bigint AS differing,
       sum(bytes)::bigint AS bytes
FROM counted GROUP BY pop ORDER BY pop

-- name: findings
-- A page, behind the segment @after, of objects that are not in the cache or of which POPs served
-- different bytes.
WITH objects AS MATERIALIZED (
    {{objectsOfCatalog}}
), differing AS MATERIALIZED (
    SELECT path FROM objects WHERE done GROUP BY path HAVING count(DISTINCT sha256) > 1
)
SELECT k.id, k.pop, k.path, k.state, k.age_seconds, k.detail, k.requests,
       coalesce(k.was_cached, false) AS was_cached, k.sha256,
       k.path IN (SELECT path FROM differing) AS differs,
       coalesce({{isNotCached}}, false) AS is_not_cached
FROM objects k
WHERE k.id > @after::bigint AND k.done
  AND ({{isNotCached}} OR k.path IN (SELECT path FROM differing))
ORDER BY k.id LIMIT @limit::int
