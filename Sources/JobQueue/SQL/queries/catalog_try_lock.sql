-- $1 catalog. As catalog_lock, without waiting; false when somebody else has it.
SELECT pg_try_advisory_xact_lock(hashtextextended('dray.catalog', $1::bigint)) AS locked
