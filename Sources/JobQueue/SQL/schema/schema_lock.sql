-- Keeps other migrations of this schema from running until the transaction ends, waiting for `lock_timeout`. Any role
-- may hold an advisory lock, so the one that does is named.
DO $$
DECLARE
    -- Of this schema alone, under a name that no other program takes by accident.
    lock_key CONSTANT bigint := hashtextextended(
        'dray.schema.' || current_setting('dray.schema'), 0);
    holder text;
BEGIN
    PERFORM pg_advisory_xact_lock(lock_key);
EXCEPTION WHEN lock_not_available THEN
    SELECT format('the session with pid %s of the role %s', l.pid, coalesce(a.usename::text, '(unknown)'))
    INTO holder
    FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND l.classid::bigint = (lock_key >> 32) & 4294967295
        AND l.objid::bigint = lock_key & 4294967295
    LIMIT 1;
    RAISE EXCEPTION 'The advisory lock of migrations is held by %', coalesce(holder, 'a session that has just ended')
        USING ERRCODE = 'lock_not_available';
END
$$
