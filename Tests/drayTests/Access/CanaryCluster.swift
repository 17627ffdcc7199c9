import API
import Foundation
import Glibc
import Model
import TestSupport
import Testing

/// A cluster with a secret in every place where an operator may put one: each occurs nowhere else.
final class CanaryCluster {
    /// Secrets of URLs: of a signature in a query, and of a token in a path.
    let signature = "SignatureOfTheURL"
    let pathToken = "TokenOfThePath"
    /// Of the database's URL, of `--origin-settings`, and the tokens.
    let password = "Passw0rdOfTheDatabase"
    let header = "HeaderOfTheOrigin"
    /// Of a redirect, and of a list that is rejected for it.
    let userinfo = "UserinfoOfTheURL"
    /// Of a webhook: the key of its signatures, and a token in its URL.
    let hookSecret = "SecretOfTheWebhook"
    let hookQuery = "QueryOfTheWebhook"
    let admin = AccessToken.random().text
    private(set) var issued: [String: String] = [:]

    let directory: TemporaryDirectory
    let database: PostgresServer
    let origin: FaultOrigin
    let gate = Gate()
    let coordinator: ChildProcess
    let url: String
    private(set) var worker: ChildProcess?

    /// Those that are of no use to a database.
    var foreignSecrets: [String] { [password, header, userinfo, admin] + issued.values }
    var urlSecrets: [String] { [signature, pathToken] }
    var secrets: [String] { foreignSecrets + urlSecrets + [hookSecret, hookQuery] }

    init() async throws {
        directory = try TemporaryDirectory("canary")
        let authority = try await TestAuthority(in: directory)
        database = try await PostgresServer(
            tls: try await authority.server("database", names: "DNS:db.example"))
        try await database.execute("ALTER ROLE postgres PASSWORD '\(password)'")
        origin = try FaultOrigin()
        let place =
            "postgresql://postgres:\(password)@db.example/postgres?hostaddr="
            + "\(try #require(database.address))&sslmode=verify-full&sslrootcert="
            + authority.certificate
        for (name, text) in [("database-url", place), ("admin", admin)] {
            chmod(try directory.write(text + "\n", to: name), 0o600)
        }
        coordinator = try DrayProcess.start(
            [
                "coordinator", "--database-file", directory.path("database-url"), "--token-file",
                directory.path("admin"), "--listen", "127.0.0.1:0", "--log-level", "debug",
                "--allow-addresses", "127.0.0.0/8",
            ], environment: ["DRAY_TOKEN": ""])
        let process = coordinator
        try await waitUntil(deadlineSeconds: 30, "the start of a coordinator") {
            guard process.ending == nil else { throw POSIXFailure(process.errors) }
            return process.output.hasSuffix("\n")
        }
        url = String(process.output.dropFirst("export DRAY_COORDINATOR=".count).dropLast())
        for role in ["reader", "submitter", "worker"] {
            let token = try await run(["token", "create", "--role", role, "--name", role]).output
            chmod(try directory.write(token, to: role), 0o600)
            issued[role] = String(token.dropLast())
        }
    }

    /// Starts `dray` with the token of a role.
    func start(_ words: [String], as role: String = "admin") throws -> ChildProcess {
        try DrayProcess.start(
            words,
            environment: [
                "DRAY_TOKEN": "", "DRAY_TOKEN_FILE": directory.path(role),
                "DRAY_COORDINATOR": url,
            ])
    }

    @discardableResult
    func run(_ words: [String], as role: String = "admin") async throws -> ChildProcess {
        let process = try start(words, as: role)
        #expect(try await process.wait() == .exited(0), "\(words): \(process.errors)")
        return process
    }

    /// Starts a worker with the header of its settings.
    func startWorker() throws -> ChildProcess {
        let settings = try directory.write(
            #"{"\#(origin.url())": {"headers": {"X-Key": "\#(header)"}}}"#, to: "origins.json")
        chmod(settings, 0o600)
        let started = try start(
            [
                "worker", "--root", directory.path, "--allow-addresses", "127.0.0.0/8",
                "--origin-settings", settings, "--metrics-listen", "0", "--log-level", "debug",
            ], as: "worker")
        worker = started
        return started
    }

    /// Adds webhooks whose receivers answer with an error or a redirect, are down, and may not be
    /// connected to.
    func addWebhooks() async throws {
        chmod(try directory.write(hookSecret + "\n", to: "hook-secret"), 0o600)
        // It reads no bodies.
        let closing = [("Connection", "close")]
        origin.route("/hook", FaultOrigin.Response(500, headers: closing, text: hookQuery))
        origin.route(
            "/moved-hook",
            FaultOrigin.Response(
                302, headers: closing + [("Location", "\(withUserinfo("/h"))?key=\(hookQuery)")]))
        for place in [
            origin.url("/hook"), origin.url("/moved-hook"), "http://127.0.0.1:1/hook",
            "http://127.0.0.1:1/later",
        ] {
            try await run([
                "webhook", "add", "\(place)?key=\(hookQuery)", "--kind", "catalog",
                "--secret-file", directory.path("hook-secret"),
            ])
        }
        // As if its name led elsewhere now.
        try await database.execute(
            """
            UPDATE dray.webhook SET url = 'http://169.254.169.254/hook?key=\(hookQuery)'
            WHERE url LIKE '%/later?%'
            """)
    }

    /// Waits until each webhook has deliveries that failed for good, and no others.
    func waitForDeadDeliveries() async throws {
        try await waitUntil(deadlineSeconds: 60, "the last attempts") {
            // The 12th attempt is the last.
            try await database.execute(
                """
                UPDATE dray.webhook_delivery SET due_at = now(), attempts = greatest(attempts, 11)
                WHERE state = 'waiting' AND leased_until < now();
                SELECT count(DISTINCT webhook_id), count(*) FILTER (WHERE state <> 'dead')
                FROM dray.webhook_delivery
                """
            ).hasSuffix("4|0\n")
        }
    }

    /// Writes a list of files and a title, of which some can be fetched, some fail, and one waits for
    /// the gate.
    func writeList() throws -> String {
        let body = Array("bytes".utf8)
        let path = "/exp=1~hmac=\(pathToken)"
        for name in ["/a.bin", "/t/0.ts", "\(path)/p.bin"] { origin.serve(name, body) }
        origin.route("/held.bin", FaultOrigin.Response(text: "held").held(at: gate))
        origin.route(
            "/moved.bin",
            FaultOrigin.Response(
                302,
                headers: [("Location", "\(withUserinfo("/gone"))?X-Amz-Signature=\(signature)")]))
        origin.serve(
            "/t/main.m3u8",
            Array(
                """
                #EXTM3U
                #EXT-X-TARGETDURATION:4
                #EXTINF:4,
                0.ts?Signature=\(signature)&Expires=9
                #EXTINF:4,
                lost.ts?Signature=\(signature)&Expires=9
                #EXT-X-ENDLIST

                """.utf8))
        let targets = [
            "/a.bin?X-Amz-Signature=\(signature)", "\(path)/p.bin", "/held.bin",
            "/lost.bin?token=\(signature)", "\(path)/lost.bin", "/moved.bin?sig=\(signature)",
            "/t/main.m3u8?hdnts=exp=1~hmac=\(pathToken)",
        ]
        return try directory.write(
            targets.map { origin.url($0) + "\n" }.joined(), to: "list.txt")
    }

    /// A URL that lists must not have.
    func withUserinfo(_ path: String) -> String {
        "http://user:\(userinfo)@127.0.0.1:\(origin.port)\(path)"
    }

    private let operatorPaths: Set<String> = [
        "/v1/webhooks", "/v1/webhook-deliveries", "/v1/audit", "/v1/diagnosis", "/v1/tokens",
    ]

    /// What a reader gets of every list, and an administrator of those that readers do not get.
    func answers(of catalog: CatalogID) async throws -> [(name: String, text: String)] {
        let reader = try #require(issued["reader"])
        let port = try #require(url.split(separator: ":").last.flatMap { Int($0) })
        var answers: [(String, String)] = []
        for path in [
            "/metrics", "/v1/status", "/v1/catalogs/\(catalog)", "/v1/catalogs/\(catalog)/assets",
            "/v1/catalogs/\(catalog)/files", "/v1/catalogs/\(catalog)/refresh",
            "/v1/assets?catalog=\(catalog)", "/v1/assets?catalog=\(catalog)&search=bin",
            "/v1/queues", "/v1/origins",
            "/v1/sites", "/v1/workers/history?seconds=3600", "/v1/load-tests", "/v1/events",
            "/v1/report", "/v1/webhooks", "/v1/webhook-deliveries", "/v1/audit", "/v1/diagnosis",
            "/v1/tokens",
        ] {
            let isOfOperators = operatorPaths.contains(path)
            let answer = try await Wire.exchange(
                port: port, "GET", path,
                headers: ["Authorization": "Bearer \(isOfOperators ? admin : reader)"])
            #expect(answer.status == 200, "\(path): \(answer.body)")
            answers.append((path, answer.body))
        }
        return answers
    }

    /// The columns of Dray's tables that have a text in one of their rows.
    func columns(with text: String) async throws -> Set<String> {
        let found = try await database.execute(
            """
            WITH own AS MATERIALIZED (
                SELECT table_name, column_name,
                       CASE data_type WHEN 'bytea' THEN 'encode(%I, ''escape'')' ELSE '%I::text' END AS text
                FROM information_schema.columns WHERE table_schema = 'dray')
            SELECT table_name || '.' || column_name FROM own WHERE (xpath('/row/n/text()', query_to_xml(format(
                'SELECT count(*) AS n FROM dray.%I WHERE ' || text || ' LIKE %L',
                table_name, column_name, '%\(text)%'), false, true, '')))[1]::text <> '0'
            """)
        return Set(found.split(separator: "\n").map(String.init))
    }
}
