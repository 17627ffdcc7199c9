import EventLoop
import Glibc
import Model
import Services
import Synchronization
import Text

/// A private PostgreSQL server on a state directory, reachable by a unix socket only.
///
/// `start` creates the database on first use and returns when the server accepts connections; `run`
/// restarts it when it dies; `stop` ends it. The server of a killed Dray is reused. Safe from any
/// thread; call `start`, `run` and `stop` in order.
package final class EmbeddedPostgres: Service {
    package let name = "postgresql"

    private struct Server {
        var pid: Int32 = 0
        /// The end of process `pid`; nil before the first start.
        var end: ProcessEnd?
        /// Nil for a reused server.
        var child: Subprocess.Child?
        var socketDirectory = ""
        var isStopping = false
    }

    private let state: StateDirectory
    private let environment: [String: String]
    private let server = Mutex(Server())
    private let log = Logger("postgresql")

    /// Maximum time of a start, including recovery after a crash.
    private static let startLimit = Duration.seconds(120)
    /// Maximum time that the processes of a killed server take to notice.
    private static let orphanLimit = Duration.seconds(10)
    /// Maximum size of the server's log; beyond it the log is truncated.
    private static let logLimitBytes = 16 << 20
    /// The interval between checks of the log's size.
    private static let logInterval = Duration.seconds(1)

    package init(state: StateDirectory, environment: [String: String]) {
        self.state = state
        self.environment = environment
    }

    /// The server's URL for libpq, without a secret; valid after `start`.
    package var databaseURL: String { databaseURL(named: PostgresSettings.database) }

    /// Returns the URL of another database of the server.
    ///
    /// - Parameter name: letters, digits and underscores.
    package func databaseURL(named name: String) -> String {
        let directory = socketDirectory
        var encoded = ""
        for byte in directory.utf8 {
            let character = Character(Unicode.Scalar(byte))
            if character.isASCII, character.isLetter || character.isNumber {
                encoded.append(character)
            } else {
                let hex = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(hex)" : "%\(hex)"
            }
        }
        return "postgresql://\(PostgresSettings.role)@/\(name)?host=\(encoded)"
            + "&port=\(PostgresSettings.port)"
    }

    /// The socket's directory; valid after `start`.
    package var socketDirectory: String { server.withLock { $0.socketDirectory } }

    /// The server's process id; valid after `start`.
    package var processID: Int32 { server.withLock { $0.pid } }

    package func start() async throws {
        truncateLongLog()
        try await startOrTakeOver()
    }

    private func startOrTakeOver() async throws(Failure) {
        if let running = PostmasterFile.read(inDataDirectory: state.dataDirectory),
            PostmasterFile.isServer(running.pid, ofDataDirectory: state.dataDirectory)
        {
            if try await takeOver(running) { return }
        }
        let binaries = try await PostgresBinaries.find(
            wanted: try dataVersion(), environment: environment)
        if access("\(state.dataDirectory)/PG_VERSION", F_OK) != 0 {
            try await initialize(binaries)
        }
        try await launch(binaries)
    }

    /// Takes over a running server; returns false if it was stopping, and has ended.
    private func takeOver(_ found: PostmasterFile) async throws(Failure) -> Bool {
        log.info("reusing a running server", ["pid": found.pid])
        let deadline = ContinuousClock.now + Self.startLimit
        let end = try end(of: found.pid)
        let changes = try? DirectoryChanges(in: state.dataDirectory)
        // Checked after `end` was made: the number may be another process's by now.
        while PostmasterFile.isServer(found.pid, ofDataDirectory: state.dataDirectory) {
            let change = changes?.next()
            if let now = PostmasterFile.read(inDataDirectory: state.dataDirectory),
                now.pid == found.pid, now.isReady
            {
                server.withLock {
                    $0 = Server(pid: now.pid, end: end, socketDirectory: now.socketDirectory)
                }
                return true
            }
            try await wait(
                for: end, or: change, until: deadline,
                "the server with process id \(found.pid) is busy")
        }
        return false
    }

    private func end(of pid: Int32) throws(Failure) -> ProcessEnd {
        do {
            return try ProcessEnd(of: pid)
        } catch {
            throw Failure(.clusterPostgresFailed, "cannot watch PostgreSQL: \(error)")
        }
    }

    /// Returns the major version of the data directory; nil without a database.
    private func dataVersion() throws(Failure) -> Int? {
        guard access(state.dataDirectory, F_OK) == 0 else { return nil }
        guard let text = readSmallFile("\(state.dataDirectory)/PG_VERSION"),
            let major = Int(text.filter { $0 != "\n" })
        else {
            throw Failure(
                .clusterPostgresFailed,
                "\(state.dataDirectory) is not a PostgreSQL data directory; move it away, or use "
                    + "another --state")
        }
        return major
    }

    /// Creates the data directory under a temporary name and renames it, so that an interrupted
    /// `initdb` leaves no partial database.
    private func initialize(_ binaries: PostgresBinaries) async throws(Failure) {
        log.info("creating the database", ["state": state.path, "version": binaries.major])
        let prefix = "data.new-"
        for name in directoryNames(state.serverDirectory) where name.hasPrefix(prefix) {
            let removal = ["rm", "-rf", "--", "\(state.serverDirectory)/\(name)"]
            _ = try await state.user.run(removal, output: state.logDescriptor)
        }
        let fresh = "\(state.serverDirectory)/\(prefix)\(getpid())"
        // trust: the server does not authenticate users of the socket. The socket's directory has
        // mode 0700 and belongs to the server's user, so only that user and root can reach it. Both
        // could read the data files anyway. There is no TCP listener.
        let status = try await state.user.run(
            [
                "\(binaries.directory)/initdb", "--pgdata=\(fresh)",
                "--username=\(PostgresSettings.role)", "--auth-local=trust", "--auth-host=reject",
                "--encoding=UTF8", "--no-locale", "--no-instructions",
            ], output: state.logDescriptor)
        if Task.isCancelled { throw Failure(.workerCancelled, "stopped while starting") }
        guard status == 0 else { throw failed("initdb ended with status \(status)") }
        guard rename(fresh, state.dataDirectory) == 0 else {
            throw StateDirectory.failure("rename \(fresh)", errno)
        }
    }

    /// Starts the server and waits until it accepts connections.
    private func launch(_ binaries: PostgresBinaries) async throws(Failure) {
        try await waitForOrphans()
        let socketDirectory = try makeSocketDirectory()
        let settings = PostgresSettings.arguments(socketDirectory: socketDirectory)
        let command = ["\(binaries.directory)/postgres", "-D", state.dataDirectory] + settings
        let deadline = ContinuousClock.now + Self.startLimit
        // The server reports its readiness in postmaster.pid only.
        let changes = try? DirectoryChanges(in: state.dataDirectory)
        let child = try state.user.spawn(command, output: state.logDescriptor)
        server.withLock {
            $0 = Server(
                pid: child.pid, end: child.end, child: child, socketDirectory: socketDirectory)
        }
        while !child.end.hasHappened {
            let change = changes?.next()
            if let file = PostmasterFile.read(inDataDirectory: state.dataDirectory),
                file.pid == child.pid, file.isReady
            {
                log.debug("accepting connections", ["pid": child.pid])
                return
            }
            try await wait(
                for: child.end, or: change, until: deadline, "PostgreSQL does not become ready")
        }
        server.withLock { $0.pid = 0 }
        throw failed("PostgreSQL ended with status \(child.reap())")
    }

    /// Waits for the end of a killed server's other processes: they keep its shared memory until
    /// they notice, and only then can it start.
    private func waitForOrphans() async throws(Failure) {
        // A server that ended in order has removed the file.
        guard let file = PostmasterFile.read(inDataDirectory: state.dataDirectory) else { return }
        let orphans = directoryNames("/proc").compactMap { Int32($0) }.filter {
            PostmasterFile.isServer($0, ofDataDirectory: state.dataDirectory)
        }
        for pid in orphans {
            let end = try end(of: pid)
            // Checked again: the number may be another process's by now.
            guard PostmasterFile.isServer(pid, ofDataDirectory: state.dataDirectory) else {
                continue
            }
            let hasEnded = await end.wait(atMost: Self.orphanLimit)
            if Task.isCancelled { throw Failure(.workerCancelled, "stopped while starting") }
            guard hasEnded else { throw failed("process \(pid) of a killed server does not end") }
        }
        // Root without CAP_SYS_PTRACE, as in containers, cannot see the directories of another
        // user's processes. No event reports the end of their use of the memory.
        let deadline = ContinuousClock.now + Self.orphanLimit
        while file.hasSharedMemoryInUse, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(20))
            if Task.isCancelled { throw Failure(.workerCancelled, "stopped while starting") }
        }
    }

    /// Returns `postgresql/` itself, or a short directory in /tmp: a socket's path has at most 107
    /// bytes.
    private func makeSocketDirectory() throws(Failure) -> String {
        let socketName = "/.s.PGSQL.\(PostgresSettings.port)"
        if state.serverDirectory.utf8.count + socketName.utf8.count <= 100 {
            return state.serverDirectory
        }
        var template = Array("/tmp/dray-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw StateDirectory.failure("create a directory in /tmp", errno)
        }
        let bytes = template.dropLast().map { UInt8(bitPattern: $0) }
        let path = String(decoding: bytes, as: UTF8.self)
        guard !state.user.isOther || lchown(path, state.user.uid, state.user.gid) == 0 else {
            throw StateDirectory.failure("give \(path) to \(state.user.name)", errno)
        }
        return path
    }
}

// MARK: - Running and stopping

extension EmbeddedPostgres {
    /// Restarts the server when it dies, until the task is cancelled; throws if it exits
    /// repeatedly.
    package func run() async throws {
        var restarts: [ContinuousClock.Instant] = []
        while let end = server.withLock({ $0.end }) {
            let hasEnded = await end.wait(atMost: Self.logInterval)
            guard !Task.isCancelled else { return }
            truncateLongLog()
            guard hasEnded else { continue }
            guard !isAlive, !server.withLock({ $0.isStopping }) else { return }
            let now = ContinuousClock.now
            restarts = restarts.filter { now - $0 < .seconds(60) } + [now]
            guard restarts.count <= 5 else { throw failed("PostgreSQL exits repeatedly") }
            log.warning("PostgreSQL ended; starting it again", ["log": state.logPath])
            removeShortSocketDirectory()
            try await startOrTakeOver()
        }
    }

    /// Stops the server with a fast shutdown: sessions end, committed data is written, then the
    /// process ends.
    package func stop() async {
        server.withLock { $0.isStopping = true }
        // The database gets most of the bounded stopping time: a checkpoint may write much. After
        // SIGQUIT it recovers at the next start, which loses nothing.
        for (signal, limit) in [(SIGINT, 30), (SIGQUIT, 5), (SIGKILL, 5)] {
            guard isAlive, case (let pid, let end?) = server.withLock({ ($0.pid, $0.end) }) else {
                break
            }
            kill(pid, signal)
            // Waits even if the task is cancelled: the cancellation is what stops the server.
            _ = await Task { await end.wait(atMost: .seconds(limit)) }.value
            if isAlive { log.warning("PostgreSQL does not stop", ["pid": pid, "signal": signal]) }
        }
        removeShortSocketDirectory()
    }

    private var isAlive: Bool {
        server.withLock { server in
            guard server.pid > 0, let end = server.end else { return false }
            guard end.hasHappened else { return true }
            // The number of a reaped process may become another process's.
            _ = server.child?.reap()
            server.pid = 0
            return false
        }
    }

    private func removeShortSocketDirectory() {
        let directory = socketDirectory
        // Removes only directories of `makeSocketDirectory`. A server that ended removed its socket
        // and lock, unless it was killed.
        guard directory.hasPrefix("/tmp/dray-") else { return }
        for name in [".s.PGSQL.\(PostgresSettings.port)", ".s.PGSQL.\(PostgresSettings.port).lock"]
        {
            unlink("\(directory)/\(name)")
        }
        rmdir(directory)
    }

    /// Waits for the end of a process or a change in the data directory.
    private func wait(
        for end: ProcessEnd, or change: ShutdownSignal?, until deadline: ContinuousClock.Instant,
        _ message: String
    ) async throws(Failure) {
        let rest = deadline - .now
        guard rest > .zero else { throw failed(message) }
        // A user has few inotify instances: without one, the caller looks again now and then.
        await waitAtMost(change == nil ? min(rest, .milliseconds(20)) : rest) {
            await waitForFirst(
                of: { await end.wait() }, { await (change ?? ShutdownSignal()).wait() })
        }
        if Task.isCancelled {
            // The group does not stop services that have not started: this leaves no process.
            await stop()
            throw Failure(.workerCancelled, "stopped while starting")
        }
    }

    private func failed(_ message: String) -> Failure {
        let lines = lastLogLines()
        let reason = lines.split(separator: "\n").last {
            $0.contains("FATAL") || $0.contains("error")
        }
        let detail = reason.map { " (\(printable(String($0))))" } ?? ""
        return Failure(.clusterPostgresFailed, "\(message)\(detail); its log is \(state.logPath)")
    }

    /// Returns the last 2 KiB of the server's log.
    private func lastLogLines() -> String {
        let descriptor = open(state.logPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var status = stat()
        fstat(descriptor, &status)
        var buffer = [UInt8](repeating: 0, count: 2_048)
        let count = pread(descriptor, &buffer, buffer.count, max(0, status.st_size - 2_048))
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    /// Truncates a long log; the server appends, so it continues at the new end.
    private func truncateLongLog() {
        var status = stat()
        if fstat(state.logDescriptor, &status) == 0, status.st_size > Self.logLimitBytes {
            ftruncate(state.logDescriptor, 0)
        }
    }
}
