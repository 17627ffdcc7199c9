-- $1 lanes and $2 jobs, pairwise, whose paths are locked. Those of them whose SHA256SUMS may have replaced a newer one:
-- a worker wrote it for another catalog, and reported that since this job was leased, before it read what is stored.
-- The other catalog may have read later and written earlier. A catalog that has not ended needs no look: its own list
-- comes after its assets.
SELECT j.id
FROM unnest($1::bigint[], $2::bigint[]) AS r(lane, job)
{{jobOfEach}}
JOIN LATERAL (
    SELECT granted_at FROM span
    WHERE lane_id = j.lane_id AND last_id >= j.id AND first_id <= j.id ORDER BY last_id LIMIT 1
) AS p ON true
JOIN directory mine ON mine.id = j.directory_id
WHERE EXISTS (
    SELECT FROM directory same
    WHERE same.site_id = mine.site_id AND same.path = mine.path AND same.id <> mine.id
      AND same.sums_at >= p.granted_at
)
