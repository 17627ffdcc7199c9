-- $1 catalog, $2 assets. Locks their jobs and then them, as reports do: from here on no report adds
-- jobs or parts to them.
WITH chosen AS MATERIALIZED (
    SELECT DISTINCT id FROM unnest($2::bigint[]) AS u(id)
), delayed AS MATERIALIZED (
    SELECT d.id FROM delayed_job d JOIN chosen c ON c.id = d.asset_id WHERE d.catalog_id = $1
    ORDER BY d.id FOR UPDATE OF d
), jobs AS MATERIALIZED (
    SELECT j.id FROM lane l JOIN job j ON j.lane_id = l.id JOIN chosen c ON c.id = j.asset_id
    WHERE l.catalog_id = $1 ORDER BY j.id FOR UPDATE OF j
), assets AS MATERIALIZED (
    SELECT a.id FROM asset a JOIN chosen c ON c.id = a.id
    WHERE (SELECT count(*) FROM jobs) >= 0 AND (SELECT count(*) FROM delayed) >= 0
    ORDER BY a.id FOR UPDATE OF a
)
SELECT count(*) FROM assets
