internal import CPostgres
package import EventLoop
internal import Synchronization

/// A message of NOTIFY.
package struct PostgresNotification: Sendable, Equatable {
    package let channel: String
    package let payload: String

    package init(channel: String, payload: String) {
        self.channel = channel
        self.payload = payload
    }
}

/// One nonblocking connection on an event loop.
///
/// Calls of several tasks alternate by statement; a task that needs a transaction or a separate
/// session takes a connection from the pool. It must be closed with `close` before its loop is shut
/// down. A failure of the connection is final: every later call throws.
package actor PostgresConnection {
    nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// Messages of NOTIFY for the subscribed channels; ends with the connection. Without a reader,
    /// it keeps the newest 1024.
    package nonisolated let notifications: AsyncStream<PostgresNotification>
    let notify: AsyncStream<PostgresNotification>.Continuation

    let handle: ConnectionHandle
    let descriptor: Int32
    let secrets: [String]
    private let usualPatienceSeconds: Double?
    /// Timeout of the answer to a statement; nil for none.
    private(set) var patienceSeconds: Double?

    /// The connection's final failure; nil while it works.
    var failure: PostgresError?
    var cache: StatementCache
    var operation: Operation?
    var deadline: LoopTimer?
    private var transaction = Transaction.none
    /// The queue of tasks: one statement, pipeline, script or COPY at a time.
    private var turns = TurnQueue()

    /// Readable from any thread: true if the connection works and has no open transaction.
    nonisolated let isReusable = Atomic<Bool>(true)

    // MARK: Opening and closing

    /// Connects; waits at most the configured time per host.
    package static func connect(
        _ configuration: PostgresConfiguration, on loop: EventLoop
    ) async throws(PostgresError) -> PostgresConnection {
        let (handle, secrets) = try await ConnectionHandle.open(configuration)
        let connection = PostgresConnection(
            handle: handle, secrets: secrets, configuration: configuration, loop: loop)
        try await connection.attach()
        return connection
    }

    private init(
        handle: ConnectionHandle, secrets: [String], configuration: PostgresConfiguration,
        loop: EventLoop
    ) {
        self.handle = handle
        self.secrets = secrets
        self.loop = loop
        descriptor = PQsocket(handle.pointer)
        usualPatienceSeconds = configuration.statementTimeoutSeconds.map { $0 + 5 }
        patienceSeconds = usualPatienceSeconds
        cache = StatementCache(capacity: configuration.maximumPreparedStatements)
        (notifications, notify) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1024))
    }

    private func attach() throws(PostgresError) {
        do throws(EventLoopError) {
            try loop.register(descriptor, for: .readable) { _, ready in self.handle(ready) }
        } catch {
            throw breakDown(PostgresError(.cannotConnect, error.description))
        }
        deadline = loop.makeTimer { self.giveUp() }
    }

    /// Ends the connection; a statement in progress fails with `.closed`.
    package func close() {
        breakDown(PostgresError(.closed, "the connection was closed"))
    }

    // MARK: Statements

    /// Runs one statement, prepared on its first use.
    @discardableResult
    package func query(
        _ sql: String, _ parameters: [PostgresValue] = []
    ) async throws(PostgresError) -> PostgresResult {
        try await query(PostgresStatement(sql, parameters))
    }

    /// Runs one statement.
    @discardableResult
    package func query(
        _ statement: PostgresStatement
    ) async throws(PostgresError) -> PostgresResult {
        let results = try await pipeline([statement])
        guard let result = results.first else {
            throw PostgresError(.connectionLost, "no answer to the statement")
        }
        return result
    }

    /// Runs statements in one round trip, and outside a transaction as a single one. The first
    /// error skips the rest, rolls everything back, and is thrown.
    package func pipeline(
        _ statements: [PostgresStatement]
    ) async throws(PostgresError) -> [PostgresResult] {
        guard !statements.isEmpty else { return [] }
        let encoded = try statements.map { statement throws(PostgresError) in
            (statement, try EncodedParameters(statement.parameters))
        }
        await takeTurn()
        defer { endTurn() }
        try checkUsable()
        var commands: [Command] = []
        let begin = transaction.takeBegin()
        var isSent = PQenterPipelineMode(handle.pointer) == 1
        if let begin {
            let nothing = try EncodedParameters([])
            isSent = isSent && send(PostgresStatement(begin), nothing, &commands)
        }
        for (statement, parameters) in encoded {
            isSent = isSent && send(statement, parameters, &commands)
        }
        guard isSent, PQpipelineSync(handle.pointer) == 1 else { throw sendFailed() }
        // The server's timeout applies to each statement, but it answers all together.
        var results = try await answer(
            .pipeline, commands: commands,
            timeoutSeconds: patienceSeconds.map { $0 * Double(statements.count) })
        if begin != nil, !results.isEmpty { results.removeFirst() }
        guard results.count == statements.count else {
            throw breakDown(PostgresError(.connectionLost, "an answer is missing"))
        }
        return results
    }

    /// Runs a script of statements without parameters, such as a migration; one transaction unless
    /// the script has its own. `timeoutSeconds` replaces the configured timeout on this side; the
    /// script itself sets the server's `statement_timeout`.
    @discardableResult
    package func simple(
        _ script: String, timeoutSeconds: Double? = nil
    ) async throws(PostgresError) -> [PostgresResult] {
        guard !script.utf8.contains(0) else {
            throw PostgresError(.usage, "a script with a NUL byte cannot be sent")
        }
        try await flushBegin()
        await takeTurn()
        defer { endTurn() }
        try checkUsable()
        guard leavePipelineMode(), PQsendQuery(handle.pointer, script) == 1 else {
            throw sendFailed()
        }
        return try await answer(.script, timeoutSeconds: timeoutSeconds)
    }

    /// Subscribes to a channel of NOTIFY; messages arrive in `notifications`.
    package func listen(to channel: String) async throws(PostgresError) {
        try await simple("LISTEN \(try PostgresEscaping.identifier(channel))")
    }

    /// Queues one statement, with its preparation if it has to be; returns false if libpq rejects.
    private func send(
        _ statement: PostgresStatement, _ parameters: EncodedParameters,
        _ commands: inout [Command]
    ) -> Bool {
        let sql = statement.sql
        guard statement.isPrepared else {
            commands.append(.statement(sql))
            return parameters.withPointers { count, values, lengths, formats in
                PQsendQueryParams(handle.pointer, sql, count, nil, values, lengths, formats, 0)
            } == 1
        }
        let name: String
        if let known = cache.name(for: sql) {
            name = known
        } else {
            let (fresh, evicted) = cache.insert(sql)
            name = fresh
            if let evicted {
                commands.append(.deallocate)
                let text = "DEALLOCATE \(evicted)"
                guard PQsendQueryParams(handle.pointer, text, 0, nil, nil, nil, nil, 0) == 1 else {
                    return false
                }
            }
            commands.append(.prepare(sql))
            guard PQsendPrepare(handle.pointer, name, sql, 0, nil) == 1 else { return false }
        }
        commands.append(.statement(sql))
        return parameters.withPointers { count, values, lengths, formats in
            PQsendQueryPrepared(handle.pointer, name, count, values, lengths, formats, 0)
        } == 1
    }

    // MARK: Transactions (the package's entry is in PostgresConnection+Transaction)

    func begin(_ statement: String) throws(PostgresError) {
        try checkUsable()
        guard case .none = transaction else {
            throw PostgresError(.usage, "a transaction within a transaction")
        }
        transaction = .begins(statement)
    }

    /// Sends COMMIT. Also throws if the server answers with a rollback, as after an error that the
    /// caller ignored.
    func commit() async throws(PostgresError) {
        defer { patienceSeconds = usualPatienceSeconds }
        guard transaction.end() else { return }
        if try await query("COMMIT").commandTag != "COMMIT" {
            throw PostgresError(
                .server, "the transaction had failed and was rolled back", sqlState: "25P02")
        }
    }

    func rollback() async {
        defer { patienceSeconds = usualPatienceSeconds }
        guard transaction.end() else { return }
        guard failure == nil else { return }
        do {
            try await query("ROLLBACK")
        } catch {
            breakDown(error)
        }
    }

    /// Sets the timeout of each statement up to the end of this transaction, instead of the
    /// configured one.
    package func setStatementTimeout(seconds: Double) async throws(PostgresError) {
        let statement = try statementTimeout(seconds: seconds)
        try await query(statement.sql, statement.parameters)
    }

    /// Returns the statement of `setStatementTimeout`, for the caller to send.
    package func statementTimeout(seconds: Double) throws(PostgresError) -> PostgresStatement {
        if case .none = transaction {
            throw PostgresError(.usage, "a timeout for a transaction outside of one")
        }
        patienceSeconds = seconds + 5
        return PostgresStatement(
            "SELECT set_config('statement_timeout', $1, true)",
            [.text("\(Int(min(max(seconds * 1000, 1), 2_000_000_000)))")])
    }

    private func flushBegin() async throws(PostgresError) {
        guard let begin = transaction.takeBegin() else { return }
        try await query(begin)
    }

    // MARK: COPY (the package's entry is in PostgresConnection+Copy)

    /// Starts COPY … FROM STDIN and keeps the turn until `endCopy`.
    func beginCopy(_ sql: String) async throws(PostgresError) {
        try await flushBegin()
        await takeTurn()
        do throws(PostgresError) {
            try checkUsable()
            guard leavePipelineMode(), PQsendQuery(handle.pointer, sql) == 1 else {
                throw sendFailed()
            }
            _ = try await answer(.copyStart)
        } catch {
            endTurn()
            throw error
        }
    }

    /// Sends a batch, and returns when the socket has taken it.
    func sendCopy(_ bytes: [UInt8]) async throws(PostgresError) {
        try checkUsable()
        let code = bytes.withUnsafeBytes { raw in
            PQputCopyData(
                handle.pointer, raw.baseAddress?.assumingMemoryBound(to: CChar.self),
                Int32(raw.count))
        }
        guard code == 1 else { throw sendFailed() }
        _ = try await answer(.copyFlush)
    }

    /// Ends the COPY and the turn; with a message, the server discards the rows.
    func endCopy(aborting message: String?) async throws(PostgresError) -> Int {
        defer { endTurn() }
        try checkUsable()
        guard PQputCopyEnd(handle.pointer, message) == 1 else { throw sendFailed() }
        return try await answer(.script).first?.affectedRowCount ?? 0
    }

    // MARK: Turns

    private func takeTurn() async {
        if turns.take() { return }
        await withCheckedContinuation { turns.wait($0) }
    }

    private func endTurn() { turns.end() }

    private func checkUsable() throws(PostgresError) {
        if let failure { throw failure }
    }

    /// Leaves pipeline mode: local, without a round trip; nothing is in flight at the start of a
    /// turn.
    private func leavePipelineMode() -> Bool {
        PQpipelineStatus(handle.pointer) == PQ_PIPELINE_OFF
            || PQexitPipelineMode(handle.pointer) == 1
    }
}

/// The transaction of a connection.
private enum Transaction {
    case none
    /// This BEGIN is sent with the next statement.
    case begins(String)
    case open

    /// Returns the BEGIN to send now, once.
    mutating func takeBegin() -> String? {
        guard case .begins(let statement) = self else { return nil }
        self = .open
        return statement
    }

    /// Returns false if nothing was sent, so that there is nothing to end.
    mutating func end() -> Bool {
        defer { self = .none }
        if case .begins = self { return false }
        return true
    }
}

/// Tasks that use a connection one after the other.
private struct TurnQueue {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Takes the turn; returns false if another task has it.
    mutating func take() -> Bool {
        guard !isTaken else { return false }
        isTaken = true
        return true
    }

    mutating func wait(_ task: CheckedContinuation<Void, Never>) { waiting.append(task) }

    /// Passes the turn on.
    mutating func end() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}
