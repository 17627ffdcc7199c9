package import Model
package import Postgres

/// The database of the queues: lends connections of a pool, and turns errors into `Failure`s.
struct QueueDatabase: Sendable {
    let pool: PostgresPool
    /// Time limit of a statement on a whole catalog.
    let catalogStatementSeconds: Double
    /// Lines of starts that wait for others of their site.
    let startTurns = StartTurns()

    init(pool: PostgresPool, catalogStatementSeconds: Double) {
        self.pool = pool
        self.catalogStatementSeconds = catalogStatementSeconds
    }

    private static let maxTries = 10

    /// Runs `body` in a transaction, and again after a serialization failure or a deadlock.
    func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) async throws -> Value
    ) async throws(Failure) -> Value {
        try await withConnection { connection in
            try await connection.transaction { try await body($0) }
        }
    }

    /// Lends a connection to `body`.
    func withConnection<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) async throws -> Value
    ) async throws(Failure) -> Value {
        do {
            return try await attempt(body)
        } catch {
            throw Failure(ofQueue: error)
        }
    }

    /// Does the same, and throws errors of the database as they are.
    func attempt<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        var tries = 0
        while true {
            tries += 1
            do {
                return try await pool.withConnection { try await body($0) }
            } catch let error as PostgresError
                where error.isRetryableTransaction && tries < Self.maxTries
            {
                continue
            }
        }
    }

    /// Lends a connection to each of two reads, which run at the same time and see the tables at
    /// different moments. Returns what `combine` makes of their answers.
    func together<First: Sendable, Second: Sendable, Value>(
        _ first: @escaping @Sendable (PostgresConnection) async throws -> First,
        _ second: @escaping @Sendable (PostgresConnection) async throws -> Second,
        combine: (First, Second) throws -> Value
    ) async throws(Failure) -> Value {
        do {
            async let one = withConnection(first)
            let two = try await withConnection(second)
            return try combine(try await one, two)
        } catch {
            throw Failure(ofQueue: error)
        }
    }

    /// Sets the time limit of statements on whole catalogs for the rest of a transaction.
    ///
    /// Call it once the catalog's lock is held: a transaction that waits for the lock holds a
    /// connection, and soon fails with `cluster.busy`.
    func allowCatalogTime(_ connection: PostgresConnection) async throws {
        try await connection.setStatementTimeout(seconds: catalogStatementSeconds)
    }
}

extension PostgresConnection {
    /// Runs statements in one round trip, and plans each only the first time that it runs on the
    /// connection.
    func pipelinePlannedOnce(
        _ statements: [PostgresStatement]
    ) async throws(PostgresError) -> [PostgresResult] {
        let planOnce = PostgresStatement(SQL.Common.planOnce)
        return Array(try await pipeline([planOnce] + statements).dropFirst())
    }
}

extension Failure {
    /// Converts an error of work on the queue.
    init(ofQueue error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as PostgresError: self.init(queue: error)
        default: self.init(.workerInternal, "The queue was interrupted: \(error)")
        }
    }

    /// Converts a database error; the message stays.
    package init(queue error: PostgresError) {
        if error.isTLSFailure {
            self.init(
                .clusterDatabaseCertificate,
                "the TLS connection to PostgreSQL failed: \(error.message)")
        } else if error.isConnectionFailure {
            self.init(.clusterDatabaseUnreachable, "PostgreSQL does not answer: \(error.message)")
        } else if [.timeout, .cancelled, .closed].contains(error.kind) {
            self.init(.clusterBusy, "No answer of PostgreSQL in time: \(error.message)")
        } else if error.isPrivilege {
            self.init(
                .clusterDatabasePrivilege,
                "PostgreSQL denies it to this role (42501): \(error.message)")
        } else if error.isTransient {
            self.init(
                .clusterBusy,
                "PostgreSQL cannot do it now (\(error.sqlState)): \(error.message)")
        } else {
            self.init(
                .workerInternal,
                "PostgreSQL rejected a statement (\(error.sqlState)): \(error.message)")
        }
    }
}

extension PostgresError {
    /// True if the server's state caused the error, not the statement: read-only, cancelled by an
    /// operator, no space or memory, a conflict with other transactions. A repeated request, such
    /// as a worker's results, loses nothing (PostgreSQL manual, appendix A).
    fileprivate var isTransient: Bool {
        ["25006", "57014"].contains(sqlState)
            || ["40", "53", "55", "58"].contains(sqlState.prefix(2))
    }
}

extension Failure {
    static func unknownCatalog(_ catalog: CatalogID) -> Failure {
        .notFound("There is no catalog \(catalog).", listedBy: "dray catalog list")
    }

    /// The failure of a queue that no catalog has made yet; live workers may take its jobs already.
    static func unknownQueue(
        _ name: String, _ connection: PostgresConnection
    ) async throws -> Failure {
        let workers = try await Workers.count(ofQueue: name, connection)
        guard workers > 0 else {
            return .notFound("There is no queue \(name.prefix(100)).", listedBy: "dray queue")
        }
        return Failure(
            .inputNotFound,
            "Queue \(name.prefix(100)) has \(workers) \(workers == 1 ? "worker" : "workers") and no "
                + "site yet: the first catalog of its site creates it.")
    }

    /// - Parameter name: a queue or a storage URL.
    static func unknownSite(_ name: String) -> Failure {
        .notFound(
            "There is no site \(redacted(url: name).prefix(200)).", listedBy: "dray site list")
    }

    static func unknownOrigin(_ name: String) -> Failure {
        .notFound("There is no origin \(name.prefix(100)).", listedBy: "dray origins")
    }

    static func unknownLoadTest(_ id: LoadTestID) -> Failure {
        Failure(
            .inputNotFound, "There is no load test \(id).",
            hint: "Check the id: GET /v1/load-tests lists them.")
    }
}
