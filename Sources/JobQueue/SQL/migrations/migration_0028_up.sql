-- Load tests on workers. What one measured stays until whoever follows it has it, or for a day after its end.
CREATE TABLE load_test (
    id uuid PRIMARY KEY,
    -- Null for any worker of the cluster.
    queue_id bigint REFERENCES queue,
    name text NOT NULL,
    -- As workers read it; empty once the test has ended.
    scenario text NOT NULL,
    -- Among how many workers it is divided; null for all that are ready when the wait is over.
    workers int CHECK (workers > 0),
    at_least int NOT NULL CHECK (at_least > 0),
    duration_seconds float8 NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ({{loadTestStates}})),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Until when workers may join.
    join_until timestamptz NOT NULL,
    -- Null until it is set.
    start_at timestamptz,
    stopped_at timestamptz,
    ended_at timestamptz,
    -- When somebody asked for what is new of it, last.
    followed_at timestamptz NOT NULL DEFAULT now(),
    -- Why it came to no start, or was stopped without being asked to.
    failure_code text,
    failure_message text,
    CHECK ((failure_code IS NULL) = (failure_message IS NULL))
);
-- One at a time of a queue, and one of the whole cluster.
CREATE UNIQUE INDEX load_test_open ON load_test (coalesce(queue_id, 0)) WHERE state <> 'ended';

CREATE TABLE load_share (
    test_id uuid NOT NULL REFERENCES load_test ON DELETE CASCADE,
    worker_id uuid NOT NULL,
    worker_name text NOT NULL,
    -- Which part it is, from 0; null before the start.
    number int CHECK (number >= 0),
    state text NOT NULL DEFAULT 'joined' CHECK (state IN ({{loadShareStates}})),
    joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    heard_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The first second of which nothing has come.
    next_second int NOT NULL DEFAULT 0,
    -- Of its worker's loops; 0 before it is ready.
    cores int NOT NULL DEFAULT 0,
    failure_code text,
    failure_message text,
    breakdown text,
    PRIMARY KEY (test_id, worker_id),
    CHECK ((failure_code IS NULL) = (failure_message IS NULL))
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX load_share_number ON load_share (test_id, number) WHERE number IS NOT NULL;

-- Seconds of shares, as workers wrote them.
CREATE TABLE load_interval (
    test_id uuid NOT NULL,
    number int NOT NULL,
    second int NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (test_id, number, second)
);
