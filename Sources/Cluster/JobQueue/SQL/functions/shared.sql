-- Functions that several statements use: they need no planner settings.

-- name: settled_state
-- The state of an asset that is under way, by its counts. Whatever ends segments and verifications
-- asks this: reports, the fold of tallies, and failures that are rarer. One that may lack renditions
-- is still in progress when some have failed: `optional_renditions.sql` decides. In plain SQL, so that
-- it is inlined.
CREATE OR REPLACE FUNCTION settled_state(segments bigint, segments_done bigint, segments_failed bigint,
                              verifies bigint, verifies_done bigint, verifies_failed bigint, may_lack boolean)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN segments_done + segments_failed < segments THEN 'inProgress'
                WHEN verifies_done + verifies_failed < verifies THEN 'verifying'
                WHEN segments_failed + verifies_failed > 0
                    THEN CASE WHEN may_lack THEN 'inProgress' ELSE 'failed' END
                ELSE 'completed' END
$$

-- name: is_site_within
-- True if a site is at a root or below it: by components of the path, with the same query.
CREATE OR REPLACE FUNCTION is_site_within(site text, root text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT split_part(site, '?', 2) = split_part(root, '?', 2)
           AND (split_part(site, '?', 1) = split_part(root, '?', 1)
                OR starts_with(split_part(site, '?', 1), split_part(root, '?', 1) || '/'))
$$

-- name: outside_roots
-- The roots of the workers that are alive, when none of these may write to the site, and whether a
-- symlink leads out of them; no row when one may, or there is none. A site is within a root as
-- `StorageURL.isSite` has it.
CREATE OR REPLACE FUNCTION outside_roots(of_site bigint) RETURNS TABLE (roots text, has_symlink boolean)
LANGUAGE sql STABLE AS $$
    SELECT left(string_agg(DISTINCT array_to_string(w.roots, ', '), ', '), 250), bool_or(n.is_within)
    FROM site t
    JOIN worker w ON w.last_seen > now() - interval '60 seconds'
    CROSS JOIN LATERAL (
        SELECT w.roots IS NULL
               OR EXISTS (SELECT FROM unnest(w.roots) AS r
                          WHERE is_site_within(t.storage_url, r)) AS is_within
    ) AS n
    WHERE t.id = of_site
      -- Looked at first, because it is the rule.
      AND NOT EXISTS (
          SELECT FROM worker o
          WHERE o.last_seen > now() - interval '60 seconds' AND t.id <> ALL (o.refused_sites)
            AND (o.roots IS NULL
                 OR EXISTS (SELECT FROM unnest(o.roots) AS r
                            WHERE is_site_within(t.storage_url, r))))
    GROUP BY t.id
$$

-- name: events_end
-- The oldest transaction that is still running and may be of this database, or else the next one.
-- What transactions before it have inserted is final in the snapshot of the calling statement. A
-- transaction of another database of the server holds nothing up: its lock on its own number says
-- whose it is. One without a lock has just begun, or has ended since the snapshot.
CREATE OR REPLACE FUNCTION events_end() RETURNS xid8
LANGUAGE plpgsql STABLE AS $$
DECLARE
    seen CONSTANT pg_snapshot := pg_current_snapshot();
BEGIN
    IF pg_snapshot_xmin(seen) = pg_snapshot_xmax(seen) THEN RETURN pg_snapshot_xmax(seen); END IF;
    RETURN coalesce((
        SELECT x.id FROM pg_snapshot_xip(seen) AS x(id)
        WHERE x.id::xid <> ALL(ARRAY(
            SELECT l.transactionid FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
            WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock'
              AND a.datid <> (SELECT oid FROM pg_database WHERE datname = current_database())))
        ORDER BY x.id LIMIT 1), pg_snapshot_xmax(seen));
END
$$
