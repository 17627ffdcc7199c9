-- $1 site, $2 worker. What of its room is left alone, what its quota leaves besides what others have under
-- way and what files in parts are still to come to, whether it is to be tried before anything is fetched (also
-- where another worker's try has failed since the claim), and whether something is to be removed.
SELECT coalesce(t.floor_bytes, 0) AS floor_bytes,
       CASE WHEN t.quota_bytes IS NOT NULL THEN greatest(t.quota_bytes - greatest(t.under_way_bytes - (
           SELECT coalesce(sum((e.value->>'expectedBytes')::bigint
                               - coalesce((e.value->>'partBytes')::bigint, 0)), 0)
           FROM worker w, jsonb_each(w.progress) AS e
           CROSS JOIN LATERAL (SELECT catalog_id FROM asset WHERE id = e.key::bigint OFFSET 0) AS a
           JOIN catalog c ON c.id = a.catalog_id
           WHERE w.id = $2::uuid AND c.site_id = t.id), 0) - (
           SELECT coalesce(sum(c.bytes + coalesce(
                      (SELECT sum(y.bytes) FROM tally y WHERE y.catalog_id = c.id), 0)), 0)
           FROM catalog c WHERE c.site_id = t.id) - (
           SELECT coalesce(sum(y.total_bytes - y.bytes_done), 0)
           FROM assembly y JOIN segment s ON s.id = y.segment_id JOIN asset a ON a.id = s.asset_id
           JOIN catalog c ON c.id = a.catalog_id
           WHERE c.site_id = t.id AND a.state IN ({{assetUnsettled}})), 0)::bigint END AS quota_left,
       t.fault_code IS NOT NULL AS is_tried,
       EXISTS (SELECT FROM abandoned_assembly WHERE site_id = t.id) AS is_littered
FROM site t WHERE t.id = $1::bigint
