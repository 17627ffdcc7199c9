-- $1 job. True when an asset of another catalog in the same directory was completed about when the
-- list was read or later: it may be missing from what was written, so it is written once more. The
-- margin is for transactions that had begun before the lease and ended after.
SELECT EXISTS (
    SELECT FROM job j
    JOIN lease l ON l.id = j.lease_id
    JOIN directory mine ON mine.id = j.directory_id
    JOIN directory same ON same.site_id = mine.site_id AND same.path = mine.path
    JOIN asset a ON a.directory_id = same.id
    WHERE j.id = $1::bigint AND same.id <> mine.id AND a.state = 'completed'
      AND a.changed_at > l.granted_at - interval '5 seconds'
) AS stale
