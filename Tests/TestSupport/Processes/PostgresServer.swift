internal import Foundation
internal import Glibc
internal import Synchronization

/// A PostgreSQL cluster for tests, reachable by a unix socket, and by TCP if it has a certificate.
///
/// Started from the installed server, as user `postgres` if the tests run as root. `shared()` is
/// one for the whole test process; chaos tests create their own with `isDurable` and kill it.
package final class PostgresServer: Sendable {
    private let directory: TemporaryDirectory
    private let isDurable: Bool
    /// For TCP, on which it takes TLS and passwords only; port 5432. An address of its own, so that
    /// the port is free. Nil for a server with a socket only.
    package let address: String?
    private let process = Mutex<ChildProcess?>(nil)
    private let schemaCount = Atomic<Int>(0)
    private let templates = Mutex<[String: Task<Void, any Error>]>([:])

    private static let sharedStart = Task.detached {
        let server = try await PostgresServer()
        ExitCleanup.add {
            server.killNow()
            server.directory.remove()
        }
        return server
    }

    /// Returns the cluster that all suites of the process share; started on first use.
    package static func shared() async throws -> PostgresServer { try await sharedStart.value }

    /// Creates and starts a cluster.
    ///
    /// Its data is in the directory that `DRAY_TEST_MEMORY` names, if it is set: hundreds of
    /// databases, of 300 files each, take a third of the time there.
    ///
    /// - Parameters:
    ///   - isDurable: true puts it on a disk and enables fsync and autovacuum, as on a real server;
    ///     needed to kill it.
    ///   - tls: its certificate for TCP.
    package init(isDurable: Bool = false, tls: TestCertificate? = nil) async throws {
        self.isDurable = isDurable
        address = tls.map { _ in
            "127." + (0..<3).map { _ in "\(UInt8.random(in: 1...250))" }.joined(separator: ".")
        }
        let memory = ProcessInfo.processInfo.environment["DRAY_TEST_MEMORY"]
        directory = try TemporaryDirectory("pg", in: isDurable ? "/tmp" : memory ?? "/tmp")
        for name in ["data", "socket"] {
            mkdir(directory.path(name), name == "data" ? 0o700 : 0o755)
            if let user = Self.user, let entry = getpwnam(user) {
                chown(directory.path(name), entry.pointee.pw_uid, entry.pointee.pw_gid)
            }
        }
        try await ChildProcess.run(
            [
                Self.program("initdb"), "--no-sync", "--auth=trust", "--username=postgres",
                "--encoding=UTF8", "--locale=C", "--pgdata=\(directory.path("data"))",
            ], user: Self.user)
        if let tls { try secure(with: tls) }
        try await start()
    }

    /// Writes the files of TLS, which belong to the server's user.
    private func secure(with tls: TestCertificate) throws {
        let hba = "local all all trust\nhostssl all all 127.0.0.0/8 scram-sha-256\n"
        for (name, bytes) in [
            ("server.pem", try Data(contentsOf: URL(fileURLWithPath: tls.certificate))),
            ("server.key", try Data(contentsOf: URL(fileURLWithPath: tls.key))),
            ("hba.conf", Data(hba.utf8)),
        ] {
            try bytes.write(to: URL(fileURLWithPath: directory.path(name)))
            chmod(directory.path(name), 0o600)
            if let user = Self.user, let entry = getpwnam(user) {
                chown(directory.path(name), entry.pointee.pw_uid, entry.pointee.pw_gid)
            }
        }
    }

    /// Settings for TCP.
    private var secureSettings: [String] {
        guard let address else { return ["listen_addresses="] }
        return [
            "listen_addresses=\(address)", "ssl=on",
            "ssl_cert_file=\(directory.path("server.pem"))",
            "ssl_key_file=\(directory.path("server.key"))",
            "hba_file=\(directory.path("hba.conf"))",
        ]
    }

    deinit { killNow() }

    // MARK: - Connecting

    /// The directory of its socket, for a connection string's `host`.
    package var socketDirectory: String { directory.path("socket") }

    /// Path of the socket itself, for a proxy.
    package var socketPath: String { "\(socketDirectory)/.s.PGSQL.5432" }

    /// URL of the database `postgres` with its superuser.
    package var url: String { url(database: "postgres") }

    /// Creates a schema and returns a URL with only that schema in its search path.
    ///
    /// - Parameter name: lowercase letters, digits and underscores; a number is added.
    package func schemaURL(_ name: String = "test") async throws -> String {
        let schema = "\(name)_\(schemaCount.wrappingAdd(1, ordering: .relaxed).oldValue)"
        try await execute("CREATE SCHEMA \(schema)")
        return "\(url)&options=-c%20search_path%3D\(schema)"
    }

    /// Creates a database and returns its URL; for features that schemas do not isolate, such as
    /// NOTIFY channels and advisory locks.
    package func databaseURL(_ name: String = "test") async throws -> String {
        let database = "\(name)_\(schemaCount.wrappingAdd(1, ordering: .relaxed).oldValue)"
        try await execute("CREATE DATABASE \(database)")
        return url(database: database)
    }

    /// Creates a database with the content of a template and returns its URL: a fifth of the time
    /// that the content takes to create.
    package func databaseURL(
        _ name: String, copying template: DatabaseTemplate
    ) async throws -> String {
        let database = "\(name)_\(schemaCount.wrappingAdd(1, ordering: .relaxed).oldValue)"
        let preparation = templates.withLock { templates in
            if let running = templates[template.name] { return running }
            let task = Task.detached { try await self.prepare(template) }
            templates[template.name] = task
            return task
        }
        try await preparation.value
        // Version 14 has no other, and no word for it.
        let strategy = Self.version == 14 ? "" : " STRATEGY file_copy"
        try await psql([
            "--command=CREATE DATABASE \(database) TEMPLATE \(template.name)\(strategy)",
            "--command=\\connect \(database)", "--command=\(template.distinguish)",
        ])
        return url(database: database)
    }

    /// Creates a template and closes it to connections: one that is in use cannot be copied.
    private func prepare(_ template: DatabaseTemplate) async throws {
        try await execute("CREATE DATABASE \(template.name)")
        try await template.fill(url(database: template.name))
        try await execute("ALTER DATABASE \(template.name) ALLOW_CONNECTIONS false")
    }

    /// Removes a database that `databaseURL` created, with its connections.
    package func drop(databaseAt url: String) async throws {
        try await execute("DROP DATABASE \(Self.database(of: url)) WITH (FORCE)")
    }

    /// The name of the database at a URL of this server's.
    package static func database(of url: String) -> String {
        String(url.dropFirst("postgresql:///".count).prefix { $0 != "?" })
    }

    /// Runs SQL by psql and returns its unaligned output, one line per row, columns separated by
    /// `|`. Names are looked up in Dray's schema first.
    @discardableResult
    package func execute(_ sql: String, database: String = "postgres") async throws -> String {
        try await psql(["--command=\(sql)"], database: database)
    }

    @discardableResult
    private func psql(
        _ commands: [String], database: String = "postgres"
    ) async throws -> String {
        try await ChildProcess.run(
            [
                Self.program("psql"), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align",
                "--set=ON_ERROR_STOP=1",
            ] + commands + [
                url(database: database) + "&options=-c%20search_path%3Ddray,public"
            ])
    }

    private func url(database: String) -> String {
        "postgresql:///\(database)?host=\(socketDirectory)&user=postgres"
    }

    // MARK: - Starting and stopping

    /// Starts it on its data, also after a kill, and waits until it responds.
    package func start() async throws {
        let settings =
            [
                "unix_socket_directories=\(socketDirectory)", "port=5432",
                "max_connections=600", "shared_buffers=64MB", "log_min_messages=warning",
                "fsync=\(isDurable ? "on" : "off")", "full_page_writes=\(isDurable ? "on" : "off")",
                // With hundreds of databases, autovacuum would start a worker ten times a second, for
                // tables that soon go.
                "autovacuum=\(isDurable ? "on" : "off")",
            ] + secureSettings
        let command =
            [Self.program("postgres"), "-D", directory.path("data")]
            + settings.flatMap { ["-c", $0] }
        // A killed server's children hold its memory briefly; it refuses to start until then.
        try await waitUntil(deadlineSeconds: 60, "the start of PostgreSQL") {
            if let running = process.withLock({ $0 }), running.ending == nil {
                return try await isReady()
            }
            // Killed with the test process, so that it does not outlive it.
            let child = try ChildProcess(command, user: Self.user, deathSignal: "QUIT")
            process.withLock { $0 = child }
            return false
        }
    }

    /// Stops it in order (fast shutdown) and waits for its end.
    package func stop() async throws { try await end(by: SIGINT) }

    /// Kills the server with SIGKILL and waits for its end; needs `isDurable` to stay consistent.
    package func kill() async throws { try await end(by: SIGKILL) }

    /// Shuts it down immediately, which for the data is a crash, and starts it again.
    package func crashAndRestart() async throws {
        try await end(by: SIGQUIT)
        try await start()
    }

    /// The server's log since its last start.
    package var log: String { process.withLock { $0 }?.errors ?? "" }

    private func end(by signal: Int32) async throws {
        guard let child = process.withLock({ $0 }) else { return }
        child.signal(signal)
        try await child.wait()
    }

    private func killNow() {
        guard let child = process.withLock({ $0.take() }) else { return }
        // SIGQUIT lets the server end its own children; they would otherwise outlive it briefly.
        child.endNow(by: SIGQUIT, deadlineSeconds: 5)
    }

    private func isReady() async throws -> Bool {
        let probe = try ChildProcess([
            Self.program("pg_isready"), "--quiet", "--host=\(socketDirectory)",
        ])
        return try await probe.wait() == .exited(0)
    }

    // MARK: - The installation

    /// The user that the server runs as; nil for the tests' user.
    private static var user: String? { geteuid() == 0 ? "postgres" : nil }

    private static let root = "/usr/lib/postgresql"

    /// The newest version that Debian's location has; nil if it has none.
    private static let version: Int? =
        (try? FileManager.default.contentsOfDirectory(atPath: root))?.compactMap { Int($0) }
        .filter { access("\(root)/\($0)/bin/postgres", X_OK) == 0 }.max()

    /// Returns a program of the newest installed version, first from Debian's location.
    private static func program(_ name: String) -> String {
        version.map { "\(root)/\($0)/bin/\(name)" } ?? name
    }
}

/// What databases of tests are copied from.
package struct DatabaseTemplate: Sendable {
    /// The name of its database.
    package let name: String
    /// SQL that each copy runs, to differ from the others where databases must.
    let distinguish: String
    /// Fills the database at a URL, and closes its connections to it.
    package let fill: @Sendable (_ url: String) async throws -> Void

    package init(
        _ name: String, distinguish: String,
        fill: @escaping @Sendable (_ url: String) async throws -> Void
    ) {
        self.name = name
        self.distinguish = distinguish
        self.fill = fill
    }
}
