-- Pairwise $1 assets, which are locked, $2 how often in a row their manifests are then read for fresh URLs without a
-- segment stored since, and $3 how many are stored. One job each.
WITH begun AS (
    UPDATE asset a SET renewing_since = now(), renewals = r.renewals, renewed_done = r.stored
    FROM unnest($1::bigint[], $2::int[], $3::int[]) AS r(asset, renewals, stored)
    WHERE a.id = r.asset AND a.renewing_since IS NULL
    RETURNING a.id, a.catalog_id, a.origin_id, coalesce(a.priority, -1) AS own_priority
)
INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id, kind)
SELECT c.queue_id, c.id, b.origin_id, 1, b.own_priority, b.id, 'resolve'
FROM begun b JOIN catalog c ON c.id = b.catalog_id
ORDER BY b.id
