-- $1 id, $2 queue or null, $3 name, $4 scenario, $5 workers or null, $6 at least, $7 seconds to wait for workers,
-- $8 seconds that it lasts. No row where the test, or another one that has not ended, is there.
INSERT INTO load_test (id, queue_id, name, scenario, workers, at_least, join_until, duration_seconds)
VALUES ($1::uuid, (SELECT id FROM queue WHERE name = $2), $3, $4, $5::int, $6::int,
        now() + make_interval(secs => $7::float8), $8::float8)
ON CONFLICT DO NOTHING
RETURNING id
