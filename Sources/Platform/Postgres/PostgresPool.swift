package import EventLoop
internal import Synchronization

/// A limited number of connections, opened on demand and granted first come, first served.
///
/// A broken connection is closed when it is returned or would be granted, and another one is
/// opened. Each session plans its own statements, so more than the usual number of connections
/// are opened only for tasks that have waited a moment. Shut the pool down before its loop.
package final class PostgresPool: Sendable {
    private let configuration: PostgresConfiguration
    private let loop: EventLoop
    private let usualConnections: Int
    private let maximumConnections: Int
    private let acquireTimeoutSeconds: Double
    private let state = Mutex(State())

    /// The result for a waiting task.
    private enum Grant {
        case connection(PostgresConnection)
        /// The right to open a connection, which is counted already.
        case permit
        case failure(PostgresError)
    }

    private struct Waiter {
        let id: Int
        let deadline: Double
        let continuation: CheckedContinuation<Grant, Never>
    }

    private struct State {
        var idle: [PostgresConnection] = []
        /// Open connections and permits to open one, in use or idle.
        var count = 0
        var waiters: [Waiter] = []
        var nextID = 0
        /// Time of the next expiry of waiters; infinite without a timer.
        var nextExpiry = Double.infinity
        /// True while a timer opens connections beyond the usual number.
        var isGrowing = false
        var isShutDown = false
        var drained: [CheckedContinuation<Void, Never>] = []
    }

    /// Seconds that a task waits before a connection beyond the usual number is opened for it.
    package static let patienceSeconds = 0.25

    /// Creates a pool without opening a connection. A task waits at most `acquireTimeoutSeconds`
    /// for one.
    ///
    /// - Parameter usualConnections: those that are opened at once; nil for all.
    package init(
        _ configuration: PostgresConfiguration, usualConnections: Int? = nil,
        maximumConnections: Int, on loop: EventLoop, acquireTimeoutSeconds: Double = 10
    ) {
        precondition(maximumConnections > 0)
        self.usualConnections = min(max(usualConnections ?? .max, 1), maximumConnections)
        self.configuration = configuration
        self.maximumConnections = maximumConnections
        self.loop = loop
        self.acquireTimeoutSeconds = acquireTimeoutSeconds
    }

    // MARK: Use

    /// Grants a connection for the duration of `body`. The wait for it ends with an error at the
    /// timeout or when the task is cancelled; `body` itself is not interrupted.
    package func withConnection<T>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (PostgresConnection) async throws -> T
    ) async throws -> T {
        let connection = try await acquire()
        do {
            let value = try await body(connection)
            await release(connection)
            return value
        } catch {
            await release(connection)
            throw error
        }
    }

    /// Runs `PostgresConnection.transaction` on a connection of the pool.
    package func transaction<T>(
        _ level: TransactionIsolation = .readCommitted, isReadOnly: Bool = false,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (PostgresConnection) async throws -> T
    ) async throws -> T {
        try await withConnection { connection in
            try await connection.transaction(level, isReadOnly: isReadOnly, body)
        }
    }

    /// Runs `PostgresConnection.query` on a connection of the pool.
    @discardableResult
    package func query(
        _ sql: String, _ parameters: [PostgresValue] = []
    ) async throws(PostgresError) -> PostgresResult {
        let connection = try await acquire()
        do throws(PostgresError) {
            let result = try await connection.query(sql, parameters)
            await release(connection)
            return result
        } catch {
            await release(connection)
            throw error
        }
    }

    /// Runs `PostgresConnection.pipeline` on a connection of the pool.
    package func pipeline(
        _ statements: [PostgresStatement]
    ) async throws(PostgresError) -> [PostgresResult] {
        let connection = try await acquire()
        do throws(PostgresError) {
            let results = try await connection.pipeline(statements)
            await release(connection)
            return results
        } catch {
            await release(connection)
            throw error
        }
    }

    /// Number of connections that are open or being opened.
    package var connectionCount: Int { state.withLock(\.count) }

    /// The pool's use at one time.
    package struct Usage: Sendable {
        /// Connections without a user.
        package var idle: Int
        /// Connections in use or being opened.
        package var used: Int
        /// Tasks that wait for one.
        package var waiting: Int
        package var maximum: Int
    }

    package var usage: Usage {
        state.withLock { state in
            Usage(
                idle: state.idle.count, used: state.count - state.idle.count,
                waiting: state.waiters.count, maximum: maximumConnections)
        }
    }

    /// Rejects new users, answers waiting ones with `.closed`, and closes idle connections. Returns
    /// when all granted ones have been returned and closed.
    package func shutdown() async {
        let (idle, waiters) = state.withLock { state in
            state.isShutDown = true
            defer {
                state.count -= state.idle.count
                state.idle = []
                state.waiters = []
            }
            return (state.idle, state.waiters)
        }
        for waiter in waiters { waiter.continuation.resume(returning: .failure(Self.closed)) }
        for connection in idle { await connection.close() }
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                if state.count > 0 { state.drained.append(continuation) }
                return state.count == 0
            }
            if isDrained { continuation.resume() }
        }
    }

    private static let closed = PostgresError(.closed, "the pool has been shut down")

    // MARK: Acquire and release

    private enum Claim {
        case grant(Grant)
        case wait
    }

    private func acquire() async throws(PostgresError) -> PostgresConnection {
        var dead: [PostgresConnection] = []
        let claim = state.withLock { state -> Claim in
            if state.isShutDown { return .grant(.failure(Self.closed)) }
            // Last in, first out: its caches are warm, and surplus ones stay idle.
            while let connection = state.idle.popLast() {
                if connection.isReusable.load(ordering: .relaxed) {
                    return .grant(.connection(connection))
                }
                dead.append(connection)
                state.count -= 1
            }
            guard state.count < usualConnections else { return .wait }
            state.count += 1
            return .grant(.permit)
        }
        for connection in dead { await connection.close() }
        let grant: Grant
        switch claim {
        case .grant(let given): grant = given
        case .wait: grant = await waitForTurn()
        }
        switch grant {
        case .connection(let connection): return connection
        case .failure(let error): throw error
        case .permit: return try await open()
        }
    }

    private func open() async throws(PostgresError) -> PostgresConnection {
        do throws(PostgresError) {
            return try await PostgresConnection.connect(configuration, on: loop)
        } catch {
            surrenderPermit()
            throw error
        }
    }

    private func waitForTurn() async -> Grant {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enqueue(id, continuation)
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
                    return nil
                }
                return state.waiters.remove(at: index)
            }
            waiter?.continuation.resume(returning: .failure(Self.cancelled))
        }
    }

    private static let cancelled = PostgresError(
        .cancelled, "cancelled while waiting for a connection")

    private func enqueue(_ id: Int, _ continuation: CheckedContinuation<Grant, Never>) {
        let deadline = MonotonicClock.nowSeconds + acquireTimeoutSeconds
        let (grant, mustSchedule, mayGrow) = state.withLock { state -> (Grant?, Bool, Bool) in
            // A cancellation before this found no waiter to remove.
            if Task.isCancelled { return (.failure(Self.cancelled), false, false) }
            if state.isShutDown { return (.failure(Self.closed), false, false) }
            // Connections released since `acquire` looked were granted to no task.
            if let connection = state.idle.popLast() {
                return (.connection(connection), false, false)
            }
            if state.count < usualConnections {
                state.count += 1
                return (.permit, false, false)
            }
            state.waiters.append(
                Waiter(id: id, deadline: deadline, continuation: continuation))
            let mayGrow = !state.isGrowing && state.count < maximumConnections
            if mayGrow { state.isGrowing = true }
            guard deadline < state.nextExpiry else { return (nil, false, mayGrow) }
            state.nextExpiry = deadline
            return (nil, true, mayGrow)
        }
        if let grant { continuation.resume(returning: grant) }
        if mustSchedule { schedule(at: deadline) { $0.expire() } }
        if mayGrow { schedule(at: growth(for: deadline)) { $0.grow() } }
    }

    /// Time at which a connection is opened for a waiting task.
    private func growth(for deadline: Double) -> Double {
        deadline - acquireTimeoutSeconds + Self.patienceSeconds
    }

    /// Lets the tasks that have waited for long open connections, up to the maximum.
    private func grow() {
        let now = MonotonicClock.nowSeconds
        let (waiters, next) = state.withLock { state -> ([Waiter], Double?) in
            let most = max(maximumConnections - state.count, 0)
            let waiters = Array(
                state.waiters.prefix { growth(for: $0.deadline) <= now }.prefix(most))
            state.waiters.removeFirst(waiters.count)
            state.count += waiters.count
            let next = state.count < maximumConnections ? state.waiters.first : nil
            state.isGrowing = next != nil
            return (waiters, next.map { growth(for: $0.deadline) })
        }
        for waiter in waiters { waiter.continuation.resume(returning: .permit) }
        if let next { schedule(at: next) { $0.grow() } }
    }

    private func schedule(
        at time: Double, _ action: @escaping @Sendable (PostgresPool) -> Void
    ) {
        let loop = loop
        loop.execute { [weak self] in
            loop.schedule(afterSeconds: max(time - MonotonicClock.nowSeconds, 0)) {
                if let self { action(self) }
            }
        }
    }

    /// Answers expired waiters. All wait equally long, so they are in the order of their deadlines.
    private func expire() {
        let now = MonotonicClock.nowSeconds
        let (expired, next) = state.withLock { state in
            let expired = state.waiters.prefix { $0.deadline <= now }
            state.waiters.removeFirst(expired.count)
            state.nextExpiry = state.waiters.first?.deadline ?? .infinity
            return (expired, state.nextExpiry)
        }
        let error = PostgresError(
            .timeout, "no connection came free in \(acquireTimeoutSeconds) seconds")
        for waiter in expired { waiter.continuation.resume(returning: .failure(error)) }
        if next.isFinite { schedule(at: next) { $0.expire() } }
    }

    private func release(_ connection: PostgresConnection) async {
        let isKept = connection.isReusable.load(ordering: .relaxed)
        let (waiter, mustClose) = state.withLock { state -> (Waiter?, Bool) in
            guard isKept, !state.isShutDown else { return (nil, true) }
            if !state.waiters.isEmpty { return (state.waiters.removeFirst(), false) }
            state.idle.append(connection)
            return (nil, false)
        }
        waiter?.continuation.resume(returning: .connection(connection))
        if mustClose {
            await connection.close()
            surrenderPermit()
        }
    }

    /// Returns a permit: the next waiter may open a connection.
    private func surrenderPermit() {
        typealias Drained = [CheckedContinuation<Void, Never>]
        let (waiter, drained) = state.withLock { state -> (Waiter?, Drained) in
            if !state.waiters.isEmpty { return (state.waiters.removeFirst(), []) }
            state.count -= 1
            guard state.isShutDown, state.count == 0 else { return (nil, []) }
            defer { state.drained = [] }
            return (nil, state.drained)
        }
        waiter?.continuation.resume(returning: .permit)
        for continuation in drained { continuation.resume() }
    }
}
