-- $1 catalog. As catalog_lock, without waiting; false when somebody else has it. For a fold, which a
-- crash of the server takes back as a whole: the next one does it again, and nobody waits for the
-- disk.
SELECT pg_try_advisory_xact_lock(hashtextextended('dray.catalog.' || current_schema(), $1::bigint)) AS locked,
       set_config('synchronous_commit', 'off', true)
