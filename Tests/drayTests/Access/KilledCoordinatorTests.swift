import Glibc
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Requests that create something at a coordinator that is killed, and once more at another one.
    @Suite(.timeLimit(.minutes(3))) struct KilledCoordinatorTests {
        enum Moment: CaseIterable {
            case beforeTheCommit, afterTheCommit

            /// Where statements wait at the gate: before each insert, and before the audit log's end.
            var triggers: String {
                switch self {
                case .beforeTheCommit:
                    KilledCoordinatorTests.tables.map {
                        "CREATE TRIGGER gate BEFORE INSERT ON dray.\($0) EXECUTE FUNCTION gate();"
                    }.joined()
                case .afterTheCommit:
                    "CREATE TRIGGER gate BEFORE UPDATE ON dray.audit_record EXECUTE FUNCTION gate();"
                }
            }
        }

        private static let tables = ["catalog", "access_token", "webhook", "load_test"]
        private static let requests = [
            ("/v1/catalogs", #"{"name":"a","storageURL":"file:///srv/edge","priority":5}"#),
            ("/v1/tokens", #"{"role":"reader"}"#),
            (
                "/v1/webhooks", #"{"url":"https://hook.example/x","secret":"0123456789abcdef"}"#
            ),
            (
                "/v1/load-tests",
                #"{"id":"11111111-2222-4333-8444-555555555555","name":"t","scenario":"{}","#
                    + #""atLeast":1,"waitSeconds":60,"durationSeconds":1}"#
            ),
        ]

        /// Sends all requests at once; those of a coordinator that is killed have no answer.
        private static func send(port: Int) async throws -> [Wire.Answer?] {
            try await withThrowingTaskGroup(of: (Int, Wire.Answer?).self) { group in
                for (number, (path, body)) in requests.enumerated() {
                    group.addTask {
                        let headers = ProcessCluster.authorization.merging(
                            ["Idempotency-Key": "key-\(number)"]) { $1 }
                        return (
                            number,
                            try? await Wire.exchange(
                                port: port, "POST", path, headers: headers,
                                body: Array(body.utf8))
                        )
                    }
                }
                return try await group.reduce(into: Array(repeating: nil, count: requests.count)) {
                    $0[$1.0] = $1.1
                }
            }
        }

        @Test(arguments: Moment.allCases)
        func nothingIsCreatedTwice(_ moment: Moment) async throws {
            let cluster = try await ProcessCluster(
                coordinators: 2, workers: 0, connections: 1, leaseSeconds: 10)
            let database = cluster.postgres
            try await database.execute(
                """
                CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NULL; END $$;
                \(moment.triggers)
                """)
            let count = { (condition: String) in
                try await database.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE \(condition)")
            }
            async let closed = try? database.execute(
                "SELECT pg_advisory_lock(42), 'the gate', pg_sleep(100)")
            let gate = "wait_event = 'PgSleep' AND query LIKE '%the gate%'"
            try await waitUntil(deadlineSeconds: 30, "the gate") { try await count(gate) == "1\n" }

            let (killed, other) = (cluster.coordinators[0], cluster.coordinators[1])
            async let first = Self.send(port: killed.port)
            try await waitUntil(deadlineSeconds: 30, "the requests at the gate") {
                try await count("wait_event = 'advisory' AND pid <> pg_backend_pid()") == "4\n"
            }
            killed.process.signal(SIGKILL)
            #expect(try await killed.process.wait() == .signalled(SIGKILL))
            #expect(try await first.allSatisfy { $0 == nil })

            // What its transactions will become is not known yet.
            if moment == .beforeTheCommit {
                for answer in try await Self.send(port: other.port) {
                    #expect(answer?.code == "cluster.requestRunning")
                }
            }
            _ = try await database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE \(gate)")
            _ = await closed
            var made = Self.requests.map { _ in false }
            try await waitUntil(deadlineSeconds: 30, "the end of the first requests") {
                let answers = try await Self.send(port: other.port)
                for (number, answer) in answers.enumerated() {
                    guard answer?.code != "cluster.requestRunning" else { continue }
                    // The answer to a token is given once.
                    let isGone = answer?.code == "input.alreadyCreated"
                    #expect(
                        answer?.status == 200
                            || isGone && Self.requests[number].0 == "/v1/tokens"
                                && (made[number] || moment == .afterTheCommit),
                        "\(Self.requests[number].0): \(String(describing: answer))")
                    made[number] = true
                }
                return made.allSatisfy(\.self)
            }
            for table in Self.tables {
                #expect(
                    try await database.execute("SELECT count(*) FROM dray.\(table)") == "1\n",
                    "\(table)")
            }
            try await cluster.stop()
        }
    }
}
