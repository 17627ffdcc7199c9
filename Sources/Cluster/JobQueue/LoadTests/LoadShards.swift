package import API
package import Model
import Postgres

/// Load tests on workers, as workers see them.
package struct LoadShards: Sendable {
    let database: QueueDatabase
    let supervision: LoadTestSupervision

    /// Gives a worker a shard of a test that waits for workers; none if the test has enough, has had
    /// this worker, or has data that the worker does not take. A repeated request has the same answer.
    package func join(
        _ id: LoadTestID, _ join: LoadTestJoin
    ) async throws(Failure) -> LoadTestAssignment {
        let values: SQLValues = ["test": .uuid(id), "worker": .uuid(join.worker)]
        let isWanted = try await database.transaction { connection in
            guard let test = try await supervision.lock(id, connection),
                LoadTestState(rawValue: try test.string("state")) == .waiting,
                try join.takesData == true || test.int("parts") == 0
            else { return false }
            if let row = try await connection.query(SQL.LoadTests.lockShard, values).firstRow {
                return LoadShardState(rawValue: try row.string("state")) == .joined
            }
            let most = try test.optionalInt64("workers") ?? Int64(WireLimits.loadWorkers)
            let shards = try await LoadTestSupervision.shards(of: id, connection)
            guard try !test.bool("is_wait_over"), shards.underWay < Int(most) else { return false }
            _ = try await connection.query(SQL.LoadTests.join, values + ["name": .text(join.name)])
            return true
        }
        guard isWanted else { return LoadTestAssignment(scenario: nil) }
        // Long, so not read under the lock for which the others wait.
        return try await database.withConnection { connection in
            let row = try await connection.query(SQL.LoadTests.place, ["test": .uuid(id)]).firstRow
            guard let row else { return LoadTestAssignment(scenario: nil) }
            let (parts, blocks) = (try row.int("parts"), try row.int("url_blocks"))
            return LoadTestAssignment(
                scenario: try row.string("scenario"), parts: parts > 0 ? parts : nil,
                urlBlocks: blocks > 0 ? blocks : nil)
        }
    }

    /// Returns the next parts of a running shard's data, or the next URLs for a shard that has not
    /// ended. Throws `input.notFound` for a worker without one.
    package func parts(
        _ request: LoadTestPartsRequest, of id: LoadTestID
    ) async throws(Failure) -> LoadTestParts {
        try await database.withConnection { connection in
            let row = try await connection.query(
                SQL.LoadTests.order, ["test": .uuid(id), "worker": .uuid(request.worker)]
            )
            .firstRow
            let state = try row.flatMap { LoadShardState(rawValue: try $0.string("shard")) }
            let wantsURLs = request.urls == true
            guard let row, let state,
                wantsURLs ? !LoadShardState.machine.terminal.contains(state) : state == .running
            else {
                throw Failure(
                    .inputNotFound,
                    "Worker \(request.worker) has no \(wantsURLs ? "" : "running ")shard of load "
                        + "test \(id).")
            }
            var values: SQLValues = ["test": .uuid(id), "from": .int(request.from)]
            let parts = try row.int("parts")
            if !wantsURLs {
                guard parts > 0 else { return LoadTestParts(parts: []) }
                values =
                    values + [
                        "shards": .int(try row.int("shards")),
                        "rest": .int(try row.int("number") % parts),
                        "bytes": .int(WireLimits.loadPageBytes),
                    ]
            }
            let rows = try await connection.query(
                wantsURLs ? SQL.LoadTests.urlBlock : SQL.LoadTests.parts, values
            ).rows
            return LoadTestParts(
                parts: try rows.map {
                    LoadTestData.Part(number: try $0.int("number"), data: try $0.string("data"))
                })
        }
    }

    /// Records a worker's report of its shard, without waiting, and returns instructions.
    ///
    /// Seconds that were reported before, and reports for a shard that has ended, change nothing.
    package func report(
        _ report: LoadTestReport, of id: LoadTestID
    ) async throws(Failure) -> LoadTestOrder {
        let hasChanged = try await database.transaction { connection in
            try await Self.take(report, of: id, connection)
        }
        if hasChanged { try await supervision.reconcile(id) }
        return try await order(of: id, worker: report.worker, changes: report.changes)
    }

    /// Returns the present instructions for a worker with a shard.
    ///
    /// - Parameter changes: number of changes of the load that it has; nil if it gets none.
    package func order(
        of id: LoadTestID, worker: WorkerID, changes: Int? = nil
    ) async throws(Failure) -> LoadTestOrder {
        try await database.withConnection { connection in
            let row = try await connection.query(
                SQL.LoadTests.order, ["test": .uuid(id), "worker": .uuid(worker)]
            )
            .firstRow
            guard let row, let test = LoadTestState(rawValue: try row.string("test")),
                let shard = LoadShardState(rawValue: try row.string("shard"))
            else { return LoadTestOrder(.leave) }
            switch (shard, test) {
            case (.joined, .waiting), (.ready, .waiting): return LoadTestOrder(.wait)
            case (.running, .running):
                var order = LoadTestOrder(.run)
                order.startsInSeconds = try row.optionalDouble("starts_in_seconds")
                order.shard = try row.int("number")
                order.shards = try row.int("shards")
                if let changes, try row.int("revision") > changes {
                    order.changes = try await LoadTestChange.read(id, after: changes, connection)
                }
                return order
            case (.running, .stopping): return LoadTestOrder(.stop)
            default: return LoadTestOrder(.leave)
            }
        }
    }

    /// Applies a report; returns true if it may change the state of the test.
    private static func take(
        _ report: LoadTestReport, of id: LoadTestID, _ connection: PostgresConnection
    ) async throws -> Bool {
        let shard: SQLValues = ["test": .uuid(id), "worker": .uuid(report.worker)]
        guard let row = try await connection.query(SQL.LoadTests.lockShard, shard).firstRow,
            let state = LoadShardState(rawValue: try row.string("state")),
            !LoadShardState.machine.terminal.contains(state)
        else { return false }
        let next = report.event(in: state).flatMap {
            LoadShardState.machine.next(state, $0)
        }
        var nextSecond = try row.int("next_second")
        var statements: [PostgresStatement] = []
        if state == .running, let number = try row.optionalInt64("number") {
            let fresh = report.intervals.filter { $0.second >= nextSecond }
            nextSecond = fresh.last.map { $0.second + 1 } ?? nextSecond
            if !fresh.isEmpty {
                statements.append(
                    PostgresStatement(
                        SQL.LoadTests.storeIntervals,
                        [
                            "test": .uuid(id), "shard": .int(number),
                            "seconds": .int64Array(fresh.map { Int64($0.second) }),
                            "data": .textArray(fresh.map(\.data)),
                        ]))
            }
        }
        let isFailure = next == .failed
        statements.append(
            PostgresStatement(
                SQL.LoadTests.report,
                shard + [
                    "state": .text((next ?? state).rawValue), "next_second": .int(nextSecond),
                    "cores": .optionalInt(report.cores.map { Int64($0) }),
                    "breakdown": .optionalText(next == nil ? nil : report.breakdown),
                    "failure_code": .optionalText(isFailure ? report.failure?.code.rawValue : nil),
                    "failure_message": .optionalText(isFailure ? report.failure?.message : nil),
                ]))
        // The time of the report need not survive a crash.
        if next == nil, statements.count == 1 {
            statements.insert(PostgresStatement(SQL.Common.commitLater), at: 0)
        }
        _ = try await connection.pipeline(statements)
        return next != nil
    }
}

extension LoadTestReport {
    /// Returns the meaning for a shard; nil if nothing changes.
    fileprivate func event(in state: LoadShardState) -> LoadShardEvent? {
        switch progress {
        case .preparing: nil
        case .ready: state == .joined ? .prepare : nil
        case .finished: .finish
        // A worker that leaves before the start frees its shard.
        case .failed: failure?.code == .workerCancelled && state != .running ? .dismiss : .fail
        }
    }
}
