-- Events: up to where they can be read.

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
