-- What each worker had done since it began when it was heard of last in a minute: sums that only grow.
CREATE TABLE worker_minute (
    minute timestamptz NOT NULL,
    worker_id uuid NOT NULL,
    fetches bigint NOT NULL,
    bytes bigint NOT NULL,
    busy_seconds float8 NOT NULL,
    -- Sums of the first to fourth powers of seconds that fetches took.
    seconds float8 NOT NULL,
    seconds2 float8 NOT NULL,
    seconds3 float8 NOT NULL,
    seconds4 float8 NOT NULL,
    -- Null where its process does other work as well.
    cpu_seconds float8,
    connections int NOT NULL,
    cores int NOT NULL,
    PRIMARY KEY (minute, worker_id)
) WITH (fillfactor = 50);
