-- Pairwise $1 lanes and $2 names or null: origins that failed or asked to be left alone, those of the lanes
-- where there is no name; $3 and $4 alike: origins that served something, which matters where they had not
-- before. Locked in the order of their numbers, like everywhere.
SELECT count(*) FROM (
    SELECT FROM origin o
    WHERE o.id <> 0 AND (
        o.id = ANY(ARRAY(
            SELECT CASE WHEN r.name IS NULL THEN l.origin_id ELSE n.id END
            FROM unnest($1::bigint[], $2::text[]) AS r(lane, name)
            JOIN lane l ON l.id = r.lane LEFT JOIN origin n ON n.url = r.name))
        OR (o.failures > 0 OR o.breaker <> 'closed') AND o.id = ANY(ARRAY(
            SELECT CASE WHEN r.name IS NULL THEN l.origin_id ELSE n.id END
            FROM unnest($3::bigint[], $4::text[]) AS r(lane, name)
            JOIN lane l ON l.id = r.lane LEFT JOIN origin n ON n.url = r.name)))
    ORDER BY o.id FOR UPDATE
) AS locked
