-- $1 seconds.
DELETE FROM worker_minute WHERE minute < now() - make_interval(secs => $1::float8)
