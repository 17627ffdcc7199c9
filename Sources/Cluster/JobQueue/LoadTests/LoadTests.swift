package import API
package import Model
import Postgres

/// Load tests on workers, as their clients see them.
package struct LoadTests: Sendable {
    let database: QueueDatabase
    package let supervision: LoadTestSupervision
    package let shards: LoadShards

    init(database: QueueDatabase, times: LoadTestTimes) {
        self.database = database
        supervision = LoadTestSupervision(database: database, times: times)
        shards = LoadShards(database: database, supervision: supervision)
    }

    /// Creates a test and calls workers for it; a repeated request changes nothing.
    ///
    /// Throws `input.notFound` for an unknown queue, and `input.loadTestRunning` while another test
    /// of that queue has not ended.
    package func create(
        _ test: LoadTestSubmission, key: RequestKey? = nil
    ) async throws(Failure) -> LoadTestStatus {
        try await database.once(key) { connection in
            if let name = test.queue {
                let known = try await connection.query(
                    SQL.Leasing.queues, ["names": .textArray([name]), "limit": .int(1)])
                guard known.firstRow != nil else {
                    throw try await Failure.unknownQueue(name, connection)
                }
            }
            let created = try await connection.query(
                SQL.LoadTests.create,
                [
                    "test": .uuid(test.id), "queue": .optionalText(test.queue),
                    "name": .text(test.name), "scenario": .text(test.scenario),
                    "workers": .optionalInt(test.workers.map { Int64($0) }),
                    "at_least": .int(test.atLeast), "wait_seconds": .double(test.waitSeconds),
                    "duration_seconds": .double(test.durationSeconds),
                    "parts": .int(test.parts ?? 0),
                    "url_blocks": .int(test.urls?.count ?? 0),
                    "load_unit": .optionalText(test.range?.unit.rawValue),
                    "load_most": .optionalDouble(test.range?.most),
                    "load_seconds": .optionalDouble(test.range?.seconds),
                ])
            if created.firstRow != nil {
                if let urls = test.urls {
                    _ = try await connection.query(
                        SQL.LoadTests.storeURLs, ["test": .uuid(test.id), "urls": .textArray(urls)])
                }
                _ = try await connection.query(SQL.LoadTests.notify)
            }
            guard let status = try await Self.read(test.id, connection).first else {
                let scope = test.queue.map { "queue \($0.prefix(100))" } ?? "the cluster"
                throw Failure(
                    .inputLoadTestRunning,
                    "Another load test of \(scope) has not ended; see them with "
                        + "GET /v1/load-tests.")
            }
            return status
        }
    }

    /// Stores parts of a test's data, and extends the time for which the test has a follower. A
    /// repeated part, and one of a test that no longer waits, changes nothing. Returns the state that
    /// the test had before.
    ///
    /// Throws `input.notFound`, `input.field` for a part that the test does not have, and
    /// `input.tooLarge` for more bytes than a test may have.
    @discardableResult
    package func add(
        _ data: LoadTestData, to id: LoadTestID
    ) async throws(Failure) -> LoadTestDataAnswer {
        let (answer, isWhole) = try await database.transaction { connection in
            guard let test = try await supervision.lock(id, connection) else {
                throw Failure.unknownLoadTest(id)
            }
            let count = try test.int("parts")
            if let part = data.parts.first(where: { $0.number >= count }) {
                throw Failure(
                    .inputField, at: .field("parts"), "given number \(part.number)",
                    allowed: "below \(count), the number of parts with which the test was created")
            }
            let state = LoadTestState(rawValue: try test.string("state")) ?? .ended
            let answer = LoadTestDataAnswer(state: state)
            guard state == .waiting else { return (answer, false) }
            let results = try await connection.pipeline([
                PostgresStatement(SQL.LoadTests.followed, ["test": .uuid(id)]),
                PostgresStatement(
                    SQL.LoadTests.storeParts,
                    [
                        "test": .uuid(id),
                        "numbers": .int64Array(data.parts.map { Int64($0.number) }),
                        "data": .textArray(data.parts.map(\.data)),
                    ]),
                PostgresStatement(SQL.LoadTests.countParts, ["test": .uuid(id)]),
            ])
            let stored = try results[2].only()
            let bytes = try stored.int64("bytes")
            guard bytes <= Int64(WireLimits.loadDataBytes) else {
                throw Failure(
                    .inputTooLarge,
                    "The data of load test \(id) has \(bytes) bytes; allowed: "
                        + "\(WireLimits.loadDataBytes).")
            }
            return (answer, Int(try stored.int64("parts")) == count)
        }
        // It may have waited for this alone.
        if isWhole { try await supervision.reconcile(id) }
        return answer
    }

    /// Returns the running tests, and those that ended within a day, latest first; at most 100.
    package func list() async throws(Failure) -> LoadTestList {
        try await database.withConnection { connection in
            LoadTestList(tests: try await Self.read(nil, connection))
        }
    }

    /// Throws `input.notFound`.
    package func status(of id: LoadTestID) async throws(Failure) -> LoadTestStatus {
        try await database.withConnection { try await Self.status(of: id, $0) }
    }

    /// Returns a test's new results, without waiting. Deletes earlier ones, and extends the time
    /// for which the test has a follower. Throws `input.notFound`.
    ///
    /// - Parameter changes: number of changes of the load that the follower has; nil if it gets none.
    package func follow(
        _ id: LoadTestID, after: [Int], changes: Int? = nil
    ) async throws(Failure) -> LoadTestUpdate {
        let numbers = PostgresValue.int64Array(after.indices.map { Int64($0) })
        let seconds = PostgresValue.int64Array(after.map { Int64($0) })
        let most = WireLimits.intervalsPerAnswer
        return try await database.transaction { connection in
            let results = try await connection.pipeline([
                PostgresStatement(SQL.LoadTests.followed, ["test": .uuid(id)]),
                PostgresStatement(
                    SQL.LoadTests.takeIntervals,
                    ["test": .uuid(id), "shards": numbers, "seconds": seconds]),
            ])
            guard results[0].firstRow != nil else { throw Failure.unknownLoadTest(id) }
            // Read before the seconds: a shard that has ended has no more than these.
            let status = try await Self.status(of: id, connection)
            let rows = try await connection.query(
                SQL.LoadTests.intervals,
                ["test": .uuid(id), "shards": numbers, "seconds": seconds, "limit": .int(most + 1)]
            ).rows
            var update = LoadTestUpdate(
                test: status,
                intervals: try rows.prefix(most).map { row in
                    LoadTestUpdate.Interval(
                        shard: try row.int("number"), second: try row.int("second"),
                        data: try row.string("data"))
                }, hasMore: rows.count > most)
            if let changes, status.change?.revision ?? 0 > changes {
                update.changes = try await LoadTestChange.read(id, after: changes, connection)
            }
            return update
        }
    }

    /// Returns a shard's results by URL, target and rendition, once it has reported them.
    package func breakdown(
        of id: LoadTestID, shard: Int
    ) async throws(Failure) -> LoadTestBreakdown {
        try await database.withConnection { connection in
            let row = try await connection.query(
                SQL.LoadTests.breakdown, ["test": .uuid(id), "shard": .int(shard)]
            )
            .firstRow
            guard let row else {
                throw Failure(.inputNotFound, "There is no shard \(shard) of load test \(id).")
            }
            return LoadTestBreakdown(data: try row.optionalString("breakdown"))
        }
    }

    /// Stops the workers of a test; one that has not begun ends. Throws `input.notFound`.
    package func stop(_ id: LoadTestID) async throws(Failure) -> LoadTestStatus {
        try await database.transaction { connection in
            guard let row = try await supervision.lock(id, connection) else {
                throw Failure.unknownLoadTest(id)
            }
            if LoadTestState(rawValue: try row.string("state")) == .waiting {
                try await LoadTestSupervision.end(id, nil, connection)
            } else {
                _ = try await connection.query(
                    SQL.LoadTests.stop,
                    ["test": .uuid(id), "failure_code": .null, "failure_message": .null])
                _ = try await connection.query(SQL.LoadTests.notify)
            }
            return try await Self.status(of: id, connection)
        }
    }

    private static func status(
        of id: LoadTestID, _ connection: PostgresConnection
    ) async throws -> LoadTestStatus {
        guard let test = try await read(id, connection).first else {
            throw Failure.unknownLoadTest(id)
        }
        return test
    }

    /// Returns one test, or all if `id` is nil.
    static func read(
        _ id: LoadTestID?, _ connection: PostgresConnection
    ) async throws -> [LoadTestStatus] {
        let rows = try await connection.query(SQL.LoadTests.status, ["test": .optionalUUID(id)])
            .rows
        var tests = try rows.map { try LoadTestStatus(row: $0) }
        guard !tests.isEmpty else { return [] }
        let shards = try await connection.query(
            SQL.LoadTests.shards, ["tests": .uuidArray(tests.map(\.id))])
        var byTest: [LoadTestID: [LoadTestStatus.Shard]] = [:]
        for row in shards.rows {
            byTest[try row.uuid("test_id"), default: []].append(
                try LoadTestStatus.Shard(row: row))
        }
        for index in tests.indices { tests[index].shards = byTest[tests[index].id] ?? [] }
        return tests
    }
}

extension LoadTestStatus {
    /// Decodes a row of `LoadTests.status`.
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: try row.uuid("id"), name: try row.string("name"),
            queue: try row.optionalString("queue"),
            state: LoadTestState(rawValue: try row.string("state")) ?? .ended,
            workers: try row.optionalInt64("workers").map { Int($0) },
            atLeast: try row.int("at_least"), created: try row.double("created"),
            joinUntil: try row.double("join_until"), started: try row.optionalDouble("started"),
            ended: try row.optionalDouble("ended"), failure: try Failure(in: row),
            range: try LoadRange(in: row), change: try LoadTestChange(in: row), shards: [],
            now: try row.double("now"))
    }
}

extension LoadTestStatus.Shard {
    /// Decodes a row of `LoadTests.shards`.
    fileprivate init(row: PostgresRow) throws {
        self.init(
            worker: try row.uuid("worker_id"), name: try row.string("worker_name"),
            number: try row.optionalInt64("number").map { Int($0) },
            state: LoadShardState(rawValue: try row.string("state")) ?? .lost,
            nextSecond: try row.int("next_second"), cores: try row.int("cores"),
            failure: try Failure(in: row))
    }
}
