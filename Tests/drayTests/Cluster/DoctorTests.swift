import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// `dray doctor` beside clusters in different states.
    @Suite(.timeLimit(.minutes(3))) struct DoctorTests {
        /// What `--json` prints, read with no help from Dray's own types.
        private struct Report {
            var checks: [[String: String]]
            var text: String

            init(_ process: ChildProcess) throws {
                text = process.output + process.errors
                let root = try JSONSerialization.jsonObject(with: Data(process.output.utf8))
                let all = (root as? [String: Any])?["checks"] as? [[String: String]]
                checks = try #require(all)
            }

            func check(_ name: String) -> [String: String]? {
                checks.first { $0["name"]?.hasPrefix(name) == true }
            }

            func result(_ name: String) -> String? { check(name)?["result"] }
        }

        private func doctor(
            _ options: [String] = [], _ environment: [String: String] = [:], exits code: Int32
        ) async throws -> Report {
            let process = try DrayProcess.start(
                ["doctor", "--json"] + options, environment: environment)
            #expect(
                try await process.wait() == .exited(code), "\(process.output)\(process.errors)")
            return try Report(process)
        }

        @Test func aSoundClusterIsOKAndAStoppedDatabaseIsFound() async throws {
            let cluster = try await ProcessCluster(
                coordinators: 2, workers: 1, connections: 4, leaseSeconds: 30)
            let source = try TemporaryDirectory("doctor")
            try source.write("one", to: "one.bin")
            let origin = try await NginxServer(root: source.path)
            let edge = try TemporaryDirectory("edge")
            let prefetch = try cluster.start(
                ["prefetch", "\(origin.url)/one.bin", "--to", edge.path])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let urls = ["DRAY_COORDINATOR": cluster.urls]
            let options = [
                "--site", edge.path, "--origin", "\(origin.url)/one.bin", "--allow-addresses",
                "127.0.0.0/8",
            ]
            let sound = try await doctor(options, urls, exits: 0)
            for check in sound.checks where check["area"] != "machine" {
                let isPlain = check["name"]?.hasPrefix("certificate") == true
                #expect(check["result"] == (isPlain ? "skipped" : "ok"), "\(check)")
            }
            for coordinator in cluster.coordinators {
                #expect(sound.result("coordinator \(coordinator.url)") == "ok")
            }
            for name in [
                "schema", "durability", "dead rows", "clock", "versions", "workers", "site",
                "directory \(edge.path)", "origins", "request to",
            ] {
                #expect(sound.result(name) == "ok", "\(name): \(sound.text)")
            }
            #expect(sound.check("versions")?["finding"]?.contains("4 in total") == true)

            // The same without a coordinator, and the text for people.
            let direct = try await doctor(
                [], ["DRAY_DATABASE_URL": cluster.postgres.url], exits: 0)
            #expect(direct.result("schema") == "ok" && direct.result("clock") == "ok")
            #expect(direct.result("coordinator") == "skipped")
            let text = try cluster.start(["doctor"])
            #expect(try await text.wait() == .exited(0))
            #expect(text.output.contains("\n  ok       schema "), "\(text.output)")

            // A wrong token, and a name that the policy rejects.
            let guess = AccessToken.random().text
            let refused = try await doctor(
                ["--origin", "\(origin.url)/one.bin"], urls.merging(["DRAY_TOKEN": guess]) { $1 },
                exits: 1)
            #expect(refused.result("coordinator") == "ok")
            #expect(refused.check("token")?["code"] == "cluster.unauthorized")
            #expect(refused.result("sites") == "skipped")
            #expect(refused.check("request to")?["code"] == "origin.addressDenied")
            #expect(!refused.text.contains(guess))

            try await cluster.postgres.stop()
            let stopped = try await doctor([], urls, exits: 1)
            #expect(stopped.result("coordinator") == "ok")
            #expect(stopped.check("server")?["code"] == "cluster.databaseUnreachable")
            #expect(stopped.result("token") == "ok")
            try await cluster.postgres.start()
            cluster.coordinators[0].process.signal(SIGTERM)
            _ = try await cluster.coordinators[0].process.wait()
            let half = try await doctor([], urls, exits: 1)
            #expect(
                half.check("coordinator \(cluster.coordinators[0].url)")?["code"]
                    == "cluster.coordinatorUnreachable")
            #expect(half.result("schema") == "ok")
            try await cluster.stop()
        }

        /// A server in a coordinator's place, whose clock is the test's.
        @Test(arguments: [(0.0, "ok"), (10, "warning"), (-3_600, "failed")])
        func aClockThatIsOffIsReported(_ skew: Double, _ result: String) async throws {
            let server = try FaultOrigin()
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(secondsFromGMT: 0)
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            let formatter = UncheckedFormatter(format)
            server.route("/healthz") { _ in
                let date = formatter.format.string(from: Date(timeIntervalSinceNow: skew))
                return FaultOrigin.Response(text: "ok\n").with("Date", date)
            }
            let found = try await doctor([], ["DRAY_COORDINATOR": server.url()], exits: 1)
            #expect(found.result("clock of \(server.url())") == result, "\(found.text)")
            #expect(found.result("coordinator") == "ok")
            // It has no other route.
            #expect(found.result("diagnosis of \(server.url())") == "failed", "\(found.text)")
        }

        private struct UncheckedFormatter: @unchecked Sendable {
            let format: DateFormatter

            init(_ format: DateFormatter) { self.format = format }
        }

        @Test func fewDescriptorsAndNoClusterAreReported() async throws {
            let process = try DrayProcess.start(
                ["--nofile=300:300", try DrayProcess.binary(), "doctor", "--json"],
                environment: ["DRAY_COORDINATOR": "http://127.0.0.1:1"], program: "/usr/bin/prlimit"
            )
            #expect(try await process.wait() == .exited(1), "\(process.errors)")
            let report = try Report(process)
            let files = report.check("open files")
            #expect(files?["result"] == "failed")
            #expect(files?["finding"]?.hasPrefix("300 descriptors") == true)
            #expect(report.check("coordinator")?["code"] == "cluster.coordinatorUnreachable")
        }

        @Test func aConfigurationFileWithAnErrorIsReported() async throws {
            let directory = try TemporaryDirectory("config")
            try directory.write("nonsense = 1\n", to: "c.toml")
            chmod(directory.path("c.toml"), 0o600)
            let report = try await doctor(
                ["--config", directory.path("c.toml")],
                ["DRAY_COORDINATOR": "http://127.0.0.1:1"], exits: 1)
            #expect(report.check("configuration")?["code"] == "input.usage", "\(report.text)")
        }

        @Test func aMissingSiteIsNotMade() async throws {
            let directory = try TemporaryDirectory("edge")
            let path = directory.path("none")
            let report = try await doctor(
                ["--site", path], ["DRAY_COORDINATOR": "http://127.0.0.1:1"], exits: 1)
            #expect(report.check("directory")?["code"] == "input.destination")
            #expect(!FileManager.default.fileExists(atPath: path))
        }

        @Test(.enabled("needs root that may mount a tmpfs") { await SmallFileSystem.isAllowed() })
        func aReadOnlySiteIsReported() async throws {
            let disk = try await SmallFileSystem(options: "size=4m")
            let options = ["--site", disk.directory.path]
            let none = ["DRAY_COORDINATOR": "http://127.0.0.1:1"]
            let small = try await doctor(options, none, exits: 1)
            #expect(small.check("directory")?["code"] == "storage.full", "\(small.text)")
            try await disk.remount("ro")
            let closed = try await doctor(options, none, exits: 1)
            #expect(closed.check("directory")?["code"] == "storage.readOnly", "\(closed.text)")
        }

        /// What runs at the default address is another cluster.
        @Test func aPrivateClusterThatIsStoppedIsReported() async throws {
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let edge = try TemporaryDirectory("edge")
            let state = ["--state", home.stateDirectory]
            let stopped = try await doctor(state + ["--site", edge.path], exits: 1)
            let coordinator = stopped.check("coordinator")
            #expect(coordinator?["result"] == "failed")
            #expect(coordinator?["code"] == "cluster.coordinatorUnreachable")
            #expect(
                coordinator?["finding"]?.hasPrefix(
                    "no cluster runs in --state '\(home.stateDirectory)'; start one with `dray up ")
                    == true, "\(stopped.text)")
            #expect(!stopped.text.contains("127.0.0.1:7400"), "\(stopped.text)")
            #expect(stopped.checks.contains { $0["area"] == "machine" && $0["result"] == "ok" })
            #expect(stopped.result("directory") == "ok" && stopped.result("workers") == "skipped")

            let unused = try DrayProcess.start(["doctor", "--state", home.path("unused")])
            #expect(try await unused.wait() == .exited(2))
            #expect(unused.errors.contains("where no private cluster exists"), "\(unused.errors)")
            // A coordinator that is named comes first.
            let named = try await doctor(
                state + ["--coordinator", "http://127.0.0.1:1"], exits: 1)
            #expect(named.check("coordinator")?["name"] == "coordinator http://127.0.0.1:1")
            #expect(
                named.text.contains(
                    "--state is for the private cluster; ignored, because --coordinator is set"),
                "\(named.text)")
        }

        /// One certificate has expired, the other ends within two weeks.
        @Test func certificatesAreChecked() async throws {
            let directory = try TemporaryDirectory("tls")
            let authority = try await TestAuthority(in: directory)
            let trust = ["DRAY_CA_FILE": authority.certificate]
            for (name, days, result) in [
                ("old", -1, "failed"), ("short", 2, "warning"), ("long", 20, "ok"),
            ] {
                let pair = try await authority.server(name, days: days)
                let coordinator = try DrayProcess.start([
                    "coordinator", "--database",
                    try await PostgresServer.shared().databaseURL("doctor"), "--listen",
                    "127.0.0.1:0", "--tls-certificate", pair.certificate, "--tls-key", pair.key,
                ])
                try await waitUntil(deadlineSeconds: 30, "the start of a coordinator") {
                    guard coordinator.ending == nil else { throw POSIXFailure(coordinator.errors) }
                    return coordinator.output.hasSuffix("\n")
                }
                let url = String(
                    coordinator.output.dropFirst("export DRAY_COORDINATOR=".count)
                        .prefix { $0 != "\n" })
                let report = try await doctor(
                    ["--coordinator", url], trust, exits: result == "failed" ? 1 : 0)
                if result == "failed" {
                    #expect(report.check("coordinator")?["code"] == "cluster.certificateExpired")
                } else {
                    #expect(report.result("certificate") == result, "\(report.text)")
                }
                coordinator.signal(SIGTERM)
                #expect(try await coordinator.wait() == .exited(0))
            }
        }
    }
}
