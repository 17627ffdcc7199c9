-- $1 whether to look at all that have a schedule, and not only at those whose next change has come.
SELECT id, schedule, max_bytes_per_second, extract(epoch FROM clock_timestamp())::float8 AS now
FROM site WHERE schedule <> '' AND ($1::bool OR next_change <= clock_timestamp())
