-- Load tests on workers.

-- name: create
-- @queue, @workers and the range of loads may be null. No row where the test, or another one that has not ended, is there.
INSERT INTO load_test (id, queue_id, name, scenario, workers, at_least, join_until,
                       duration_seconds, parts, url_blocks, load_unit, load_most, load_seconds)
VALUES (@test::uuid, (SELECT id FROM queue WHERE name = @queue), @name, @scenario, @workers::int,
        @at_least::int, now() + make_interval(secs => @wait_seconds::float8),
        @duration_seconds::float8, @parts::int, @url_blocks::int, @load_unit, @load_most::float8,
        @load_seconds::float8)
ON CONFLICT DO NOTHING
RETURNING id

-- name: storeURLs
INSERT INTO load_url_block (test_id, number, data)
SELECT @test::uuid, u.number - 1, u.data
FROM unnest(@urls::text[]) WITH ORDINALITY AS u(data, number)

-- name: open
-- Tests that have not ended, in the order in which they are locked.
SELECT id FROM load_test WHERE state <> 'ended' ORDER BY id

-- name: called
-- Tests that want workers and have a free shard.
SELECT t.id, q.name AS queue
FROM load_test t LEFT JOIN queue q ON q.id = t.queue_id
WHERE t.state = 'waiting' AND t.join_until > clock_timestamp()
  AND (SELECT count(*) FROM load_shard s WHERE s.test_id = t.id
       AND s.state IN ({{loadShardUnderWay}}))
      < coalesce(t.workers, @max_shards::int)
ORDER BY t.created_at LIMIT 100

-- name: lock
-- Reads what decides the end of the test, under its lock: @followed_seconds without a follower,
-- @overtime_seconds beyond its duration.
SELECT t.state, t.workers, t.at_least, t.parts,
       t.join_until < clock_timestamp() AS is_wait_over,
       t.followed_at < clock_timestamp() - make_interval(secs => @followed_seconds::float8)
           AS is_abandoned,
       coalesce(t.start_at < clock_timestamp()
                - make_interval(secs => t.duration_seconds + @overtime_seconds::float8),
                    false) AS is_overdue
FROM load_test t WHERE t.id = @test::uuid FOR UPDATE

-- name: start
-- raises: load_test.start
UPDATE load_test SET state = 'running',
    start_at = clock_timestamp() + make_interval(secs => @lead_seconds::float8)
WHERE id = @test::uuid AND state IN ({{loadTestStartable}})

-- name: stop
-- raises: load_test.stop
-- The failure is null where it was asked for.
UPDATE load_test SET state = 'stopping', stopped_at = clock_timestamp(),
    failure_code = @failure_code, failure_message = @failure_message
WHERE id = @test::uuid AND state IN ({{loadTestStoppable}})

-- name: end
-- raises: load_test.end
-- The failure is null where the test ran.
UPDATE load_test SET state = 'ended', ended_at = clock_timestamp(), scenario = '',
    failure_code = coalesce(failure_code, @failure_code),
        failure_message = coalesce(failure_message, @failure_message)
WHERE id = @test::uuid AND state IN ({{loadTestEndable}})

-- name: followed
-- Somebody wants it. No row where there is no such test.
UPDATE load_test SET followed_at = clock_timestamp() WHERE id = @test::uuid RETURNING id

-- name: status
-- @test is null for all, latest first, 100 at most.
SELECT t.id, t.name, q.name AS queue, t.state, t.workers, t.at_least,
       extract(epoch FROM t.created_at)::float8 AS created,
       extract(epoch FROM t.join_until)::float8 AS join_until,
       extract(epoch FROM t.start_at)::float8 AS started,
       extract(epoch FROM t.ended_at)::float8 AS ended,
       t.failure_code, t.failure_message, t.load_unit, t.load_most, t.load_seconds,
       c.revision, c.at_seconds, c.level, extract(epoch FROM clock_timestamp())::float8 AS now
FROM load_test t LEFT JOIN queue q ON q.id = t.queue_id
LEFT JOIN LATERAL (SELECT c.revision, c.at_seconds, c.level FROM load_change c
                   WHERE c.test_id = t.id ORDER BY c.revision DESC LIMIT 1) AS c ON true
WHERE @test::uuid IS NULL OR t.id = @test::uuid
ORDER BY t.created_at DESC, t.id LIMIT 100

-- name: changeable
-- Under the test's lock: what a change of its load depends on, and the time from which it would hold.
-- The latest change may be null.
SELECT t.load_unit, t.load_most, t.load_seconds, c.revision, c.at_seconds, c.level,
       greatest(extract(epoch FROM clock_timestamp() - t.start_at), 0)::float8
           + @lead_seconds::float8 AS next_seconds
FROM load_test t
LEFT JOIN LATERAL (SELECT c.revision, c.at_seconds, c.level FROM load_change c
                   WHERE c.test_id = t.id ORDER BY c.revision DESC LIMIT 1) AS c ON true
WHERE t.id = @test::uuid

-- name: change
-- Under the test's lock.
INSERT INTO load_change (test_id, revision, at_seconds, level)
VALUES (@test::uuid, @revision::int, @at_seconds::float8, @level::float8)

-- name: changes
-- Those after the first @known.
SELECT revision, at_seconds, level FROM load_change
WHERE test_id = @test::uuid AND revision > @known::int ORDER BY revision

-- name: countShards
-- Its shards by state, and the first one that failed.
SELECT state, count(*) AS shards,
       (array_agg(worker_name ORDER BY worker_name))[1] AS worker,
       (array_agg(failure_message ORDER BY worker_name))[1] AS message,
       (array_agg(failure_code ORDER BY worker_name))[1] AS code
FROM load_shard WHERE test_id = @test::uuid GROUP BY state

-- name: shards
-- Those with a number first.
SELECT test_id, worker_id, worker_name, number, state, next_second, cores, failure_code,
       failure_message
FROM load_shard WHERE test_id = ANY(@tests::uuid[])
ORDER BY test_id, number NULLS LAST, joined_at, worker_id

-- name: join
-- Under the test's lock. No row where it has its shard already.
INSERT INTO load_shard (test_id, worker_id, worker_name) VALUES (@test::uuid, @worker::uuid, @name)
ON CONFLICT DO NOTHING RETURNING state

-- name: lockShard
SELECT state, number, next_second FROM load_shard
WHERE test_id = @test::uuid AND worker_id = @worker::uuid FOR UPDATE

-- name: order
-- Reads the state of a test and a shard, from which the worker's next step follows.
SELECT t.state AS test, s.state AS shard, s.number, t.parts,
       extract(epoch FROM t.start_at - clock_timestamp())::float8 AS starts_in_seconds,
       (SELECT count(*) FROM load_shard o WHERE o.test_id = t.id AND o.number IS NOT NULL) AS shards,
       (SELECT coalesce(max(c.revision), 0) FROM load_change c WHERE c.test_id = t.id) AS revision
FROM load_shard s JOIN load_test t ON t.id = s.test_id
WHERE s.test_id = @test::uuid AND s.worker_id = @worker::uuid

-- name: report
-- raises: load_shard.prepare, load_shard.finish, load_shard.fail, load_shard.dismiss
-- Under the shard's lock. @next_second is the first one that was not reported; @cores, @breakdown
-- and the failure may be null. The report counts as a heartbeat of its worker, which sends none
-- while it has a shard and nothing to fetch.
WITH seen AS (
    UPDATE worker SET last_seen = clock_timestamp(), silent_since = NULL WHERE id = @worker::uuid
)
UPDATE load_shard SET state = @state, reported_at = clock_timestamp(), next_second = @next_second::int,
    cores = coalesce(@cores::int, cores), breakdown = @breakdown, failure_code = @failure_code,
        failure_message = @failure_message
WHERE test_id = @test::uuid AND worker_id = @worker::uuid

-- name: beginShards
-- raises: load_shard.begin
-- Those that are ready get their numbers, in the order in which they joined.
UPDATE load_shard s SET state = 'running', number = n.number, reported_at = clock_timestamp()
FROM (SELECT worker_id, row_number() OVER (ORDER BY joined_at, worker_id) - 1 AS number
      FROM load_shard WHERE test_id = @test::uuid AND state = 'ready') AS n
WHERE s.test_id = @test::uuid AND s.worker_id = n.worker_id

-- name: dismissShards
-- raises: load_shard.dismiss
-- The test begins, or ends, without those that are not part of it.
UPDATE load_shard SET state = 'dismissed'
WHERE test_id = @test::uuid AND state IN ({{loadShardDismissible}})

-- name: loseSilent
-- raises: load_shard.lose, load_shard.dismiss
-- Shards that were silent for @seconds: before the start another worker may join instead.
UPDATE load_shard SET
    state = CASE WHEN state = 'running' THEN 'lost' ELSE 'dismissed' END,
    failure_code = @failure_code, failure_message = @failure_message
WHERE test_id = @test::uuid AND state IN ({{loadShardUnderWay}})
  AND reported_at < clock_timestamp() - make_interval(secs => @seconds::float8)
RETURNING worker_name, state

-- name: loseOverdue
-- raises: load_shard.lose
-- Shards that still run @seconds after the test was stopped.
UPDATE load_shard s SET state = 'lost', failure_code = @failure_code,
    failure_message = @failure_message
FROM load_test t
WHERE t.id = @test::uuid AND s.test_id = t.id AND s.state = 'running'
  AND t.stopped_at < clock_timestamp() - make_interval(secs => @seconds::float8)
RETURNING s.worker_name, s.state

-- name: place
-- Reads the load of a worker that joined. No row once the test has ended.
SELECT scenario, parts, url_blocks FROM load_test WHERE id = @test::uuid AND state <> 'ended'

-- name: urlBlock
-- The first one from @from on.
SELECT number, data FROM load_url_block
WHERE test_id = @test::uuid AND number >= @from::int ORDER BY number LIMIT 1

-- name: storeParts
-- Under the test's lock: pairwise numbers and data. Parts that are there stay.
INSERT INTO load_part (test_id, number, data)
SELECT @test::uuid, p.number, p.data FROM unnest(@numbers::int[], @data::text[]) AS p(number, data)
ON CONFLICT DO NOTHING

-- name: countParts
SELECT count(*) AS parts, coalesce(sum(octet_length(data)), 0)::bigint AS bytes
FROM load_part WHERE test_id = @test::uuid

-- name: parts
-- Those whose number modulo @shards is @rest, from @from on: the first one, and more up to @bytes.
SELECT p.number, p.data FROM (
    SELECT number, data,
           sum(octet_length(data)) OVER (ORDER BY number) - octet_length(data) AS bytes_before,
           sum(octet_length(data)) OVER (ORDER BY number) AS bytes
    FROM load_part
    WHERE test_id = @test::uuid AND number >= @from::int AND number % @shards::int = @rest::int
) AS p
WHERE p.bytes <= @bytes::bigint OR p.bytes_before = 0
ORDER BY p.number

-- name: deleteData
WITH urls AS (DELETE FROM load_url_block WHERE test_id = @test::uuid)
DELETE FROM load_part WHERE test_id = @test::uuid

-- name: storeIntervals
-- Pairwise seconds and what was measured in each.
INSERT INTO load_interval (test_id, number, second, data)
SELECT @test::uuid, @shard::int, i.second, i.data FROM unnest(@seconds::int[],
        @data::text[]) AS i(second, data)

-- name: intervals
-- @shards and the first @seconds that are wanted of them, all of them of those that are not named.
SELECT i.number, i.second, i.data
FROM load_interval i LEFT JOIN unnest(@shards::int[], @seconds::int[]) AS a(number,
        second) ON a.number = i.number
WHERE i.test_id = @test::uuid AND i.second >= coalesce(a.second, 0)
ORDER BY i.second, i.number LIMIT @limit::int

-- name: takeIntervals
-- @shards and the first @seconds that are still wanted of them.
DELETE FROM load_interval i USING unnest(@shards::int[], @seconds::int[]) AS a(number, second)
WHERE i.test_id = @test::uuid AND i.number = a.number AND i.second < a.second

-- name: breakdown
SELECT breakdown FROM load_shard WHERE test_id = @test::uuid AND number = @shard::int

-- name: notify
-- Notifies coordinators that a load test wants workers, or that these are to do something else.
SELECT pg_notify('dray_work', 'load tests')
