-- $1 site. What of its room is left alone, what its quota leaves besides what is under way, and whether it is to be tried before anything is fetched: also
-- where another worker's try has failed since the claim.
SELECT coalesce(t.floor_bytes, 0) AS floor_bytes,
       CASE WHEN t.quota_bytes IS NOT NULL THEN greatest(t.quota_bytes - t.under_way_bytes - (
           SELECT coalesce(sum(c.bytes + coalesce(
                      (SELECT sum(y.bytes) FROM tally y WHERE y.catalog_id = c.id), 0)), 0)
           FROM catalog c WHERE c.site_id = t.id), 0)::bigint END AS quota_left,
       t.fault_code IS NOT NULL AS is_tried
FROM site t WHERE t.id = $1::bigint
