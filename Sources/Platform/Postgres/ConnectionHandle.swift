internal import CPostgres
internal import Glibc

/// A `PGconn`, passed from the connecting thread to the actor that uses it.
///
/// Unchecked: libpq requires that one thread at a time uses it, and it has one owner at a time.
struct ConnectionHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Returns libpq's message of the last failure, in one line, without `secrets`.
    func message(without secrets: [String]) -> String {
        Self.clean(String(cString: PQerrorMessage(pointer)), without: secrets)
    }

    static func clean(_ message: String, without secrets: [String]) -> String {
        // libpq breaks its messages into lines and indents hints by a tab.
        var text = message.split { $0 == "\n" || $0 == "\t" }.joined(separator: " ")
        for secret in secrets where !secret.isEmpty {
            text = text.split(separator: secret, omittingEmptySubsequences: false)
                .joined(separator: "***")
        }
        return text.isEmpty ? "no reason given" : text
    }

    // MARK: Connecting

    /// Connects on a separate thread, because libpq's name resolution blocks.
    static func open(
        _ configuration: PostgresConfiguration
    ) async throws(PostgresError) -> (handle: ConnectionHandle, secrets: [String]) {
        let outcome: Result<(ConnectionHandle, [String]), PostgresError>
        outcome = await withCheckedContinuation { continuation in
            let isStarted = startThread {
                continuation.resume(
                    returning: Result { () throws(PostgresError) in
                        let secrets = try passwords(in: configuration.url)
                        return (try openBlocking(configuration, secrets), secrets)
                    })
            }
            if !isStarted {
                let error = PostgresError(.cannotConnect, "no thread for the connection")
                continuation.resume(returning: .failure(error))
            }
        }
        return try outcome.get()
    }

    /// Returns the passwords of the URL as libpq parses it. libpq's message about a malformed URL
    /// quotes the URL, so it is not passed on.
    static func passwords(in url: String) throws(PostgresError) -> [String] {
        guard let options = PQconninfoParse(url, nil) else {
            throw PostgresError(.cannotConnect, "the database URL is malformed")
        }
        defer { PQconninfoFree(options) }
        var found: [String] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if ["password", "sslpassword"].contains(String(cString: keyword)),
                let value = option.pointee.val
            {
                found.append(String(cString: value))
            }
            option += 1
        }
        return found
    }

    private static func openBlocking(
        _ configuration: PostgresConfiguration, _ secrets: [String]
    ) throws(PostgresError) -> ConnectionHandle {
        // Defaults first: with expand_dbname, the URL's settings replace earlier ones. The
        // keepalives end a connection whose server has disappeared silently.
        let settings = [
            ("connect_timeout", String(configuration.connectTimeoutSeconds)),
            ("fallback_application_name", configuration.applicationName),
            ("keepalives_idle", "15"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "30000"), ("dbname", configuration.url),
            ("client_encoding", "UTF8"),
        ]
        let connection = withCStrings(settings.map(\.0)) { keywords in
            withCStrings(settings.map(\.1)) { PQconnectdbParams(keywords, $0, 1) }
        }
        guard let connection else {
            throw PostgresError(.cannotConnect, "no memory for the connection")
        }
        let handle = ConnectionHandle(pointer: connection)
        do throws(PostgresError) {
            guard PQstatus(connection) == CONNECTION_OK else {
                throw PostgresError(.cannotConnect, handle.message(without: secrets))
            }
            dray_pq_silence(connection)
            try handle.prepareSession(configuration, secrets)
        } catch {
            PQfinish(connection)
            throw error
        }
        return handle
    }

    private func prepareSession(
        _ configuration: PostgresConfiguration, _ secrets: [String]
    ) throws(PostgresError) {
        var settings = configuration.sessionSettings
        if let seconds = configuration.statementTimeoutSeconds {
            settings["statement_timeout"] = "\(Int(min(max(seconds * 1000, 1), 2_000_000_000)))"
        }
        var script = try settings.map { setting throws(PostgresError) in
            let name = try PostgresEscaping.identifier(setting.key)
            return "SET \(name) = \(try PostgresEscaping.literal(setting.value))"
        }
        if case .pinned(let standard) = configuration.searchPath {
            let schema = try PostgresEscaping.identifier(schemaOfClient(secrets) ?? standard)
            script.append("SET search_path = \(schema), pg_catalog, pg_temp")
        }
        if !script.isEmpty {
            let result = PQexec(pointer, script.joined(separator: ";"))
            defer { PQclear(result) }
            guard PQresultStatus(result) == PGRES_COMMAND_OK else {
                throw PostgresError(.cannotConnect, message(without: secrets))
            }
        }
        guard PQsetnonblocking(pointer, 1) == 0 else {
            throw PostgresError(.cannotConnect, message(without: secrets))
        }
    }

    /// Returns the first schema of a search path set by the client; nil if the server or the role
    /// sets it.
    private func schemaOfClient(_ secrets: [String]) throws(PostgresError) -> String? {
        // Qualified including the operator, because the search path is not trusted yet.
        let result = PQexec(
            pointer,
            """
            SELECT setting FROM pg_catalog.pg_settings
            WHERE name OPERATOR(pg_catalog.=) 'search_path' AND source OPERATOR(pg_catalog.=) 'client'
            """)
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_TUPLES_OK else {
            throw PostgresError(.cannotConnect, message(without: secrets))
        }
        guard PQntuples(result) == 1, let value = PQgetvalue(result, 0, 0) else { return nil }
        let first = String(cString: value).prefix { $0 != "," }
        let name = first.filter { $0 != "\"" && $0 != " " }
        return name.isEmpty ? nil : name
    }

    private static func withCStrings<T>(
        _ strings: [String], _ body: ([UnsafePointer<CChar>?]) -> T
    ) -> T {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies.map { UnsafePointer($0) } + [nil])
    }

    private static func startThread(_ work: @escaping @Sendable () -> Void) -> Bool {
        final class Box {
            let work: @Sendable () -> Void
            init(_ work: @escaping @Sendable () -> Void) { self.work = work }
        }
        let box = Unmanaged.passRetained(Box(work))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Box>.fromOpaque(context).takeRetainedValue().work()
                return nil
            }, box.toOpaque())
        guard code == 0 else {
            box.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
