-- $1 site. Keys of a few files that are stored there by the record: of its last catalogs that hold anything, one of
-- each of a few assets. Looks at a bounded number of assets, however many there are.
SELECT p.key
FROM (
    SELECT c.id FROM catalog c
    WHERE c.site_id = $1::bigint
      AND (c.bytes > 0 OR EXISTS (SELECT FROM tally y WHERE y.catalog_id = c.id AND y.bytes > 0))
    ORDER BY c.id DESC LIMIT 4
) AS c
CROSS JOIN LATERAL (
    SELECT f.key
    FROM (
        SELECT id, state, segments_done FROM asset WHERE catalog_id = c.id ORDER BY name LIMIT 10000
    ) AS a
    CROSS JOIN LATERAL (
        SELECT s.key FROM segment s JOIN result r ON r.segment_id = s.id AND r.done
        WHERE s.asset_id = a.id AND s.part = 0 ORDER BY s.ordinal LIMIT 1
    ) AS f
    WHERE a.state IN ('completed', 'refreshing', 'switching') OR a.segments_done > 0
    LIMIT 8
) AS p
