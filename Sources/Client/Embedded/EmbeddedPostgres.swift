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
        /// True for a child process. The end of a reused server can only be polled.
        var isChild = false
        var socketDirectory = ""
        var isStopping = false
    }

    private let state: StateDirectory
    private let environment: [String: String]
    private let server = Mutex(Server())
    private let log = Logger("postgresql")

    /// Maximum time of a start, including recovery after a crash.
    private static let startLimit = Duration.seconds(120)
    /// Maximum size of the server's log; beyond it the log is truncated.
    private static let logLimitBytes = 16 << 20

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
        while PostmasterFile.isServer(found.pid, ofDataDirectory: state.dataDirectory) {
            if let now = PostmasterFile.read(inDataDirectory: state.dataDirectory),
                now.pid == found.pid, now.isReady
            {
                server.withLock {
                    $0 = Server(pid: now.pid, socketDirectory: now.socketDirectory)
                }
                return true
            }
            try await pause(until: deadline, "the server with process id \(found.pid) is busy")
        }
        return false
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
        let socketDirectory = try makeSocketDirectory()
        let settings = PostgresSettings.arguments(socketDirectory: socketDirectory)
        let command = ["\(binaries.directory)/postgres", "-D", state.dataDirectory] + settings
        let deadline = ContinuousClock.now + Self.startLimit
        // A killed server's backends keep its shared memory until they notice; only then can it
        // start.
        let orphanDeadline = ContinuousClock.now + .seconds(10)
        while true {
            let pid = try state.user.spawn(command, output: state.logDescriptor)
            server.withLock {
                $0 = Server(pid: pid, isChild: true, socketDirectory: socketDirectory)
            }
            var status: Int32?
            repeat {
                if let file = PostmasterFile.read(inDataDirectory: state.dataDirectory),
                    file.pid == pid, file.isReady
                {
                    log.debug("accepting connections", ["pid": pid])
                    return
                }
                try await pause(until: deadline, "PostgreSQL does not become ready")
                status = Subprocess.exitStatus(of: pid)
            } while status == nil
            server.withLock { $0.pid = 0 }
            guard lastLogLines().contains("shared memory block"),
                ContinuousClock.now < orphanDeadline
            else { throw failed("PostgreSQL ended with status \(status ?? 0)") }
            try await pause(until: orphanDeadline, "PostgreSQL does not start", milliseconds: 100)
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
        while !Task.isCancelled {
            guard (try? await Task.sleep(for: .milliseconds(250))) != nil else { return }
            truncateLongLog()
            guard !isAlive, !server.withLock({ $0.isStopping }) else { continue }
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
            let pid = processID
            guard pid > 0, isAlive else { break }
            kill(pid, signal)
            let deadline = ContinuousClock.now + .seconds(limit)
            while isAlive, ContinuousClock.now < deadline { await uncancellableSleep() }
            if isAlive { log.warning("PostgreSQL does not stop", ["pid": pid, "signal": signal]) }
        }
        removeShortSocketDirectory()
    }

    private var isAlive: Bool {
        server.withLock { server in
            guard server.pid > 0 else { return false }
            let isOver =
                server.isChild
                ? Subprocess.exitStatus(of: server.pid) != nil
                : !PostmasterFile.isServer(server.pid, ofDataDirectory: state.dataDirectory)
            // The number of a reaped process may become another process's.
            if isOver { server.pid = 0 }
            return !isOver
        }
    }

    /// Sleeps even if the task is cancelled: the cancellation is what stops the server.
    private func uncancellableSleep() async {
        await Task.detached { try? await Task.sleep(for: .milliseconds(5)) }.value
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

    private func pause(
        until deadline: ContinuousClock.Instant, _ message: String, milliseconds: Int = 2
    ) async throws(Failure) {
        guard ContinuousClock.now < deadline else { throw failed(message) }
        do {
            try await Task.sleep(for: .milliseconds(milliseconds))
        } catch {
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
