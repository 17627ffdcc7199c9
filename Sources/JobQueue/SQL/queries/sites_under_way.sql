-- Notes what is under way at sites that have a quota, by what workers that are heard of have said: without
-- the parts of files, which count with all of them.
WITH under_way AS MATERIALIZED (
    SELECT c.site_id, least(sum((e.value->>'expectedBytes')::bigint
                                - coalesce((e.value->>'partBytes')::bigint, 0)), 9e18)::bigint AS bytes
    FROM worker w, jsonb_each(w.progress) AS e
    CROSS JOIN LATERAL (SELECT catalog_id FROM asset WHERE id = e.key::bigint OFFSET 0) AS a
    CROSS JOIN LATERAL (SELECT site_id FROM catalog WHERE id = a.catalog_id OFFSET 0) AS c
    WHERE w.last_seen > now() - interval '15 seconds'
      AND EXISTS (SELECT FROM lease l WHERE l.worker_id = w.id AND l.expires_at > now())
      AND EXISTS (SELECT FROM site WHERE quota_bytes IS NOT NULL)
    GROUP BY c.site_id
), locked AS MATERIALIZED (
    SELECT t.id, coalesce(u.bytes, 0) AS bytes
    FROM site t LEFT JOIN under_way u ON u.site_id = t.id
    WHERE t.quota_bytes IS NOT NULL AND t.under_way_bytes <> coalesce(u.bytes, 0)
    ORDER BY t.id FOR NO KEY UPDATE OF t
)
UPDATE site t SET under_way_bytes = l.bytes FROM locked l WHERE t.id = l.id
