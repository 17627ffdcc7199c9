import Glibc
import Model
import Services
import Synchronization
import Text

/// A private PostgreSQL server on a state directory, reached by a unix socket only.
///
/// `start` makes the database on first use and returns when the server accepts connections; `run`
/// starts it again when it dies; `stop` ends it. A server that a killed Dray left running is taken
/// over. Safe to use from any thread; `start`, `run` and `stop` one after the other.
package final class EmbeddedPostgres: Service {
    package let name = "postgresql"

    private struct Server {
        var pid: Int32 = 0
        /// False for one that was taken over: its end cannot be waited for, only seen.
        var isChild = false
        var socketDirectory = ""
        var isStopping = false
    }

    private let state: StateDirectory
    private let environment: [String: String]
    private let server = Mutex(Server())
    private let log = Logger("postgresql")

    /// How long recovery after a crash may take before the server counts as broken.
    private static let startLimit = Duration.seconds(120)
    /// Bound of the server's log; beyond it the log starts anew.
    private static let logLimitBytes = 16 << 20

    package init(state: StateDirectory, environment: [String: String]) {
        self.state = state
        self.environment = environment
    }

    /// How libpq reaches the server, without a secret; valid after `start`.
    package var databaseURL: String { databaseURL(named: PostgresSettings.database) }

    /// The same for another database of the server.
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

    /// Where the socket is; valid after `start`.
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

    /// True when the server is ours now; false when it was on its way out, and has gone.
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

    /// The major version of the data directory, nil when there is no database yet.
    private func dataVersion() throws(Failure) -> Int? {
        guard access(state.dataDirectory, F_OK) == 0 else { return nil }
        guard let text = readSmallFile("\(state.dataDirectory)/PG_VERSION"),
            let major = Int(text.filter { $0 != "\n" })
        else {
            throw Failure(
                "cluster.postgresFailed",
                "\(state.dataDirectory) is not a PostgreSQL data directory; move it away, or use "
                    + "another --state")
        }
        return major
    }

    /// Makes the database cluster beside its place and renames it, so that an interrupted `initdb`
    /// leaves nothing that would be taken for a database.
    private func initialize(_ binaries: PostgresBinaries) async throws(Failure) {
        log.info("creating the database", ["state": state.path, "version": binaries.major])
        let prefix = "data.new-"
        for name in directoryNames(state.serverDirectory) where name.hasPrefix(prefix) {
            let removal = ["rm", "-rf", "--", "\(state.serverDirectory)/\(name)"]
            _ = try await state.user.run(removal, output: state.logDescriptor)
        }
        let fresh = "\(state.serverDirectory)/\(prefix)\(getpid())"
        // trust: whoever reaches the socket is believed to be who he says. The socket lies in a
        // directory of mode 0700 of the server's user, so only that user and root get there, and
        // both could read the data files anyway. There is no TCP listener at all.
        let status = try await state.user.run(
            [
                "\(binaries.directory)/initdb", "--pgdata=\(fresh)",
                "--username=\(PostgresSettings.role)", "--auth-local=trust", "--auth-host=reject",
                "--encoding=UTF8", "--no-locale", "--no-instructions",
            ], output: state.logDescriptor)
        if Task.isCancelled { throw Failure("worker.cancelled", "stopped while starting") }
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
        // A killed server's backends keep its shared memory until they notice; then it can start.
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

    /// `postgresql/` itself, or a short one under /tmp: a socket's path holds 107 bytes at most.
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

// MARK: - Keeping it running, and the end

extension EmbeddedPostgres {
    /// Returns when the task is cancelled; throws when the server cannot be kept running.
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

    /// Fast shutdown: sessions end, what was committed is written, then the process ends.
    package func stop() async {
        server.withLock { $0.isStopping = true }
        // Of what has to be over in bounded time the database gets the most: a checkpoint may have
        // much to write. After SIGQUIT it recovers at the next start, which loses nothing.
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
            // A number that was waited for may become another process's.
            if isOver { server.pid = 0 }
            return !isOver
        }
    }

    /// Stopping goes on when its task is cancelled: it is what the cancellation is for.
    private func uncancellableSleep() async {
        await Task.detached { try? await Task.sleep(for: .milliseconds(5)) }.value
    }

    private func removeShortSocketDirectory() {
        let directory = socketDirectory
        // Only what makeSocketDirectory made; with the server gone its socket and lock are gone too,
        // unless it was killed.
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
            // The group does not stop what has not started: this leaves nothing behind.
            await stop()
            throw Failure("worker.cancelled", "stopped while starting")
        }
    }

    private func failed(_ message: String) -> Failure {
        let lines = lastLogLines()
        let reason = lines.split(separator: "\n").last {
            $0.contains("FATAL") || $0.contains("error")
        }
        let detail = reason.map { " (\(printable(String($0))))" } ?? ""
        return Failure("cluster.postgresFailed", "\(message)\(detail); its log is \(state.logPath)")
    }

    /// The last 2 KiB of the server's log.
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

    /// The server appends, so a shorter file goes on at its new end.
    private func truncateLongLog() {
        var status = stat()
        if fstat(state.logDescriptor, &status) == 0, status.st_size > Self.logLimitBytes {
            ftruncate(state.logDescriptor, 0)
        }
    }
}
