-- $1 test. What decides its fate, under its lock: counts of its shares, and what is over by the database's clock;
-- $2 seconds without a follower, $3 seconds beyond its duration.
SELECT t.state, t.scenario, t.workers, t.at_least, t.join_until < clock_timestamp() AS is_wait_over,
       t.followed_at < clock_timestamp() - make_interval(secs => $2::float8) AS is_abandoned,
       coalesce(t.start_at < clock_timestamp()
                - make_interval(secs => t.duration_seconds + $3::float8), false) AS is_overdue
FROM load_test t WHERE t.id = $1::uuid FOR UPDATE
