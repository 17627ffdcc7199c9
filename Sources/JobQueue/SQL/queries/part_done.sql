-- $1 segment of the whole file, $2 what the origin has stated of it with this part, $3 the part's bytes. One
-- more of its parts is stored; after the last it is verified.
WITH counted AS (
    UPDATE assembly SET parts_done = parts_done + 1, bytes_done = bytes_done + $3::bigint,
        -- More than these can only contradict each other, as these do.
        digests = CASE WHEN $2 = '' THEN digests ELSE ARRAY(
            SELECT DISTINCT d FROM unnest(digests || string_to_array($2, ',')) AS d ORDER BY d
            LIMIT 16) END
    WHERE segment_id = $1::bigint
    RETURNING segment_id, parts, parts_done
)
INSERT INTO delayed_job (queue_id, catalog_id, origin_id, rank, own_priority, asset_id, segment_id,
                         whole_id, kind)
SELECT c.queue_id, c.id, 0, 0, coalesce(a.priority, -1), a.id, n.segment_id, n.segment_id, 'verify'
FROM counted n
JOIN segment s ON s.id = n.segment_id
JOIN asset a ON a.id = s.asset_id
JOIN catalog c ON c.id = a.catalog_id
WHERE n.parts_done = n.parts
