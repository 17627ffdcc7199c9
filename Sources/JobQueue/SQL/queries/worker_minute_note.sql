-- $1 worker, $2 fetches, $3 bytes, $4 busy seconds, $5 to $8 sums of powers of a fetch's seconds, $9 CPU
-- seconds or null, $10 connections, $11 cores: what it has done since it began.
INSERT INTO worker_minute AS m (minute, worker_id, fetches, bytes, busy_seconds, seconds, seconds2,
                                seconds3, seconds4, cpu_seconds, connections, cores)
VALUES (date_trunc('minute', now()), $1::uuid, $2::bigint, $3::bigint, $4::float8, $5::float8,
        $6::float8, $7::float8, $8::float8, $9::float8, $10::int, $11::int)
ON CONFLICT (minute, worker_id) DO UPDATE SET fetches = excluded.fetches, bytes = excluded.bytes,
    busy_seconds = excluded.busy_seconds, seconds = excluded.seconds, seconds2 = excluded.seconds2,
    seconds3 = excluded.seconds3, seconds4 = excluded.seconds4, cpu_seconds = excluded.cpu_seconds,
    connections = excluded.connections, cores = excluded.cores
-- One that comes late tells nothing new.
WHERE m.fetches < excluded.fetches
