import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// What commands say to operators and to others when something is unknown, rejected or failing.
    @Suite(.timeLimit(.minutes(3))) struct OperatorCommandTests {
        private let directory: TemporaryDirectory
        private let coordinator: ChildProcess
        private let url: String
        private let origin: FaultOrigin

        init() async throws {
            directory = try TemporaryDirectory("operator")
            origin = try FaultOrigin()
            let process = try DrayProcess.start([
                "coordinator", "--database",
                try await PostgresServer.shared().databaseURL("operator"), "--listen",
                "127.0.0.1:0", "--allow-addresses", "127.0.0.0/8", "--log-level",
                "info,requests=debug",
            ])
            coordinator = process
            try await waitUntil(deadlineSeconds: 30, "the start of a coordinator") {
                guard process.ending == nil else { throw POSIXFailure(process.errors) }
                return process.output.hasSuffix("\n")
            }
            url = String(process.output.dropFirst("export DRAY_COORDINATOR=".count).dropLast())
            try directory.write("0123456789abcdef\n", to: "secret")
            chmod(directory.path("secret"), 0o600)
        }

        private func stop() async throws {
            coordinator.signal(SIGTERM)
            #expect(try await coordinator.wait() == .exited(0), "\(coordinator.errors)")
        }

        /// Runs a command, and returns what it prints, to stdout and then to stderr.
        private func run(
            _ words: String..., token: String = AccessToken.test.text, exits code: Int32 = 0
        ) async throws -> String {
            let process = try DrayProcess.start(
                words, environment: ["DRAY_COORDINATOR": url, "DRAY_TOKEN": token],
                workingDirectory: directory.path)
            #expect(
                try await process.wait() == .exited(code),
                "\(words): \(process.output)\(process.errors)")
            return process.output + process.errors
        }

        private func token(_ words: String...) async throws -> String {
            let process = try DrayProcess.start(
                ["token", "create"] + words, environment: ["DRAY_COORDINATOR": url])
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
            return String(process.output.dropLast())
        }

        private func openCatalog() async throws {
            let port = try #require(UInt16(url.split(separator: ":").last ?? ""))
            let answer = try await Wire.exchange(
                port: Int(port), "POST", "/v1/catalogs", headers: ProcessCluster.authorization,
                body: Array(
                    #"{"name":"movies","storageURL":"file://\#(directory.path("edge"))","priority":5}"#
                        .utf8))
            #expect(answer.status == 200, "\(answer)")
        }

        @Test func hintsNameTheCommandThatHelps() async throws {
            #expect(
                try await run("token", "revoke", "9", exits: 2).contains("`dray token list` lists"))
            for words in [["remove", "9"], ["change", "9", "--url", "https://hook.example/"]] {
                let process = try DrayProcess.start(
                    ["webhook"] + words, environment: ["DRAY_COORDINATOR": url])
                #expect(try await process.wait() == .exited(2))
                #expect(process.errors.contains("`dray webhook list` lists"), "\(process.errors)")
            }
            #expect(
                try await run("webhook", "redeliver", "9", exits: 2)
                    .contains("`dray webhook deliveries` lists"))
            _ = try await token("--role", "reader", "--name", "viewer")
            let twice = try await run(
                "token", "create", "--role", "reader", "--name", "viewer", exits: 2)
            #expect(twice.contains("(input.nameInUse)\nUse another name"), "\(twice)")
            let log = try await run("token", "log")
            #expect(log.contains("token viewer: role reader, number 1"), "\(log)")

            let reader = try await token("--role", "reader")
            let refused = try await run("webhook", "list", token: reader, exits: 3)
            #expect(
                refused.contains(
                    "\nAsk an administrator for a token of the role operator (`dray token create --role "
                        + "operator`). This one, of the role reader, allows reading, also metrics.\n"
                ),
                "\(refused)")
            let numbered = try await run("token", "log")
            #expect(numbered.contains(/role reader, number \d/), "\(numbered)")
            #expect(numbered.contains(/Time +Token  Name +Role/), "\(numbered)")

            let bound = try await token(
                "--role", "submitter", "--site", directory.path("edge"))
            let unseen = try await run("watch", "--kind", "worker", token: bound, exits: 3)
            #expect(
                unseen.contains("cluster.outOfScope") && unseen.contains("of no site"), "\(unseen)")
            let kind = try await run("watch", "--kind", "catalog.done", exits: 2)
            #expect(kind.contains("catalog.completed, catalog.failed"), "\(kind)")
            let time = try await run("watch", "--since", "0", exits: 2)
            #expect(time.contains("or how long ago"), "\(time)")
            for words in [["--catalog", "nosuch"], ["--site", "nosuch"], ["--code", "nosuch"]] {
                let process = try DrayProcess.start(
                    ["report"] + words, environment: ["DRAY_COORDINATOR": url])
                #expect(try await process.wait() == .exited(2), "\(words): \(process.output)")
            }
            let shown = try await run("catalog", "show", "nosuch", exits: 2)
            #expect(shown.contains("`dray catalog list` lists"), "\(shown)")
            // Keys that docs/operations.md names.
            #expect(
                coordinator.errors.contains(
                    #/requests: request request=\S+ route="GET /v1/audit" token=environment status=200 milliseconds=\d+/#
                ), "\(coordinator.errors)")
            #expect(coordinator.errors.contains("debug requests: request rejected request="))
            try await stop()
        }

        @Test func aFailingWebhookIsSeenInListsDoctorAndBundle() async throws {
            origin.route(
                "/hook", FaultOrigin.Response(500, headers: [("Connection", "close")], text: ""))
            let denied = try await run(
                "webhook", "add", "http://10.1.2.3/hook", "--secret-file", "secret", exits: 1)
            #expect(denied.contains("(origin.addressDenied)"), "\(denied)")
            #expect(denied.contains("10.1.2.3/32") && denied.contains("`dray coordinator`"))
            #expect(try await run("webhook", "list") == "Webhooks: none\n")
            #expect(try await run("doctor").contains("webhooks") == true)
            _ = try await run(
                "webhook", "add", origin.url("/hook"), "--secret-file", "secret", "--kind",
                "catalog")
            try await openCatalog()
            try await waitUntil(deadlineSeconds: 30, "the failure") {
                try await run("webhook", "list").contains("(origin.http.500)")
            }
            let list = try await run("webhook", "list")
            #expect(list.contains("Last failure") && list.contains("UTC: status 500"), "\(list)")
            let waiting = try await run(
                "webhook", "deliveries", "--webhook", "1", "--delivery-state", "waiting")
            #expect(waiting.contains("Next attempt"), "\(waiting)")
            #expect(
                waiting.contains(/catalog\.open +waiting +\d+ +20\S+ \S+ UTC +origin\.http\.500/))
            let delivered = try await run("webhook", "deliveries", "--delivery-state", "delivered")
            #expect(delivered == "Deliveries: none\n")
            let unknown = try await run("webhook", "deliveries", "--webhook", "9", exits: 2)
            #expect(unknown.contains("There is no webhook 9"), "\(unknown)")

            let doctor = try await run("doctor")
            #expect(
                doctor.contains(/warning +webhook 1 .* waiting, the oldest for .*status 500/),
                "\(doctor)")
            let reader = try await token("--role", "reader")
            #expect(
                try await run("doctor", token: reader).contains(
                    /skipped +webhooks +the token's role/))
            for (name, credentials, missing) in [
                ("all.tar.gz", AccessToken.test.text, ["postgresql.log +there is no private"]),
                (
                    "some.tar.gz", reader,
                    [
                        "webhooks.json .*cluster.forbidden",
                        "coordinators.json .*cluster.forbidden",
                        "database.json +no coordinator described it",
                    ]
                ),
            ] {
                _ = try await run(
                    "support-bundle", "-o", name, "--state", directory.path("none"),
                    token: credentials)
                try await ChildProcess.run([
                    "tar", "-xzf", directory.path(name), "-C", directory.path,
                ])
                let manifest = String(
                    decoding: try directory.read("dray-support/MANIFEST"), as: UTF8.self)
                for pattern in missing {
                    #expect(manifest.contains(try Regex(pattern)), "\(manifest)")
                }
                let hasWebhooks = manifest.contains("webhooks, what waits")
                #expect(hasWebhooks == (name == "all.tar.gz"), "\(manifest)")
            }
            try await stop()
            let gone = try await run(
                "support-bundle", "-o", "gone.tar.gz", "--state", directory.path("none"))
            #expect(gone.contains(/status\.json +no coordinator answered/), "\(gone)")
            #expect(
                gone.contains(/coordinators\.json .*cluster\.coordinatorUnreachable/), "\(gone)")
        }
    }
}
