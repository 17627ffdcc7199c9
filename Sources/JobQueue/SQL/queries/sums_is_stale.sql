-- $1 job. True when an asset of another catalog in the same directory was completed about when the
-- list was read or later: it may be missing from what was written, so it is written once more. The
-- margin is for transactions that had begun before the lease and ended after. A catalog that had ended
-- by then has none: its end comes after the lists of all its directories, and they after its assets.
SELECT EXISTS (
    SELECT FROM job j
    JOIN lease l ON l.id = j.lease_id
    JOIN directory mine ON mine.id = j.directory_id
    JOIN directory same ON same.site_id = mine.site_id AND same.path = mine.path
    JOIN catalog other ON other.id = same.catalog_id
    JOIN asset a ON a.directory_id = same.id
    WHERE j.id = $1::bigint AND same.id <> mine.id AND a.state = 'completed'
      AND a.changed_at > l.granted_at - interval '5 seconds'
      AND NOT (other.state IN ('completed', 'failed') AND other.ended_at < l.granted_at)
) AS stale
