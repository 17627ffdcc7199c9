-- $1 catalog. Submissions to a catalog, its start and its interruption come one at a time. An
-- advisory lock, not the row's: reports lock jobs, assets and the catalog in this order.
SELECT pg_advisory_xact_lock(hashtextextended('dray.catalog.' || current_schema(), $1::bigint))
