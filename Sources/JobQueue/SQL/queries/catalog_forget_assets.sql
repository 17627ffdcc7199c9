-- $1 catalog, whose lock is held, $2 days. Forgets some of its assets with all that is known of them, a
-- bounded number of segments at a time, while it is as old as that. Answers how many.
WITH chosen AS MATERIALIZED (
    SELECT id FROM (
        SELECT a.id, sum(a.segments + 1) OVER (ORDER BY a.id) - a.segments - 1 AS before
        FROM (
            SELECT id, segments FROM asset
            WHERE catalog_id = (
                SELECT id FROM catalog
                WHERE id = $1::bigint AND state <> 'running'
                  AND greatest(ended_at, opened_at) < now() - make_interval(days => $2::int))
              AND state <> 'switching'
            ORDER BY id LIMIT 5000
        ) AS a
    ) AS b WHERE before < 20000
), assets AS (
    DELETE FROM asset USING chosen WHERE asset.id = chosen.id RETURNING 1
), mirrors AS (
    DELETE FROM mirror USING chosen WHERE mirror.asset_id = chosen.id
), refreshed AS (
    DELETE FROM refreshed_file f USING chosen WHERE f.asset_id = chosen.id
), former AS (
    DELETE FROM former_file f USING chosen WHERE f.asset_id = chosen.id
), segments AS (
    DELETE FROM segment USING chosen WHERE segment.asset_id = chosen.id RETURNING segment.id
), results AS (
    DELETE FROM result USING segments WHERE result.segment_id = segments.id
), assemblies AS (
    DELETE FROM assembly USING segments WHERE assembly.segment_id = segments.id
)
SELECT count(*) AS assets FROM assets
