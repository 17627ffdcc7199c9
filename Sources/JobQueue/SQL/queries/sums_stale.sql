-- $1 lanes and $2 jobs, pairwise. Those of them that may have missed an asset: one of another catalog
-- in the same directory was completed about when the list was read or later, so it is written once
-- more. The margin is for transactions that had begun before the lease and ended after. A catalog
-- that had ended by then has none: its end comes after the lists of all its directories, and they
-- after its assets.
SELECT j.id
FROM unnest($1::bigint[], $2::bigint[]) AS r(lane, job)
JOIN job j ON j.lane_id = r.lane AND j.id = r.job
JOIN LATERAL (
    SELECT granted_at FROM span
    WHERE lane_id = j.lane_id AND last_id >= j.id AND first_id <= j.id ORDER BY last_id LIMIT 1
) AS p ON true
JOIN directory mine ON mine.id = j.directory_id
WHERE EXISTS (
    SELECT FROM directory same
    JOIN catalog other ON other.id = same.catalog_id
    JOIN asset a ON a.directory_id = same.id
    WHERE same.site_id = mine.site_id AND same.path = mine.path AND same.id <> mine.id
      AND a.state = 'completed' AND a.changed_at > p.granted_at - interval '5 seconds'
      AND NOT (other.state IN ('completed', 'failed', 'cancelled') AND other.ended_at < p.granted_at)
)
