import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// `dray support-bundle`: secrets are everywhere, and none is in it.
    @Suite(.timeLimit(.minutes(2))) struct SupportBundleTests {
        @Test func aBundleHasTheClustersStateAndNoSecret() async throws {
            let directory = try TemporaryDirectory("support")
            let token = AccessToken.random().text
            let password = "Passw0rdOfTheDatabase"
            let signature = "SignatureOfTheURL"
            let header = "HeaderOfTheOrigin"
            let inLog = "LoggedParameter"
            let database = try await PostgresServer.shared().databaseURL("support")
            let environment = ["DRAY_TOKEN": token]
            let coordinator = try DrayProcess.start(
                ["coordinator", "--database", database, "--listen", "127.0.0.1:0"],
                environment: environment)
            try await waitUntil(deadlineSeconds: 30, "the start of a coordinator") {
                guard coordinator.ending == nil else { throw POSIXFailure(coordinator.errors) }
                return coordinator.output.hasSuffix("\n")
            }
            let url = String(
                coordinator.output.dropFirst("export DRAY_COORDINATOR=".count).dropLast())
            let worker = try DrayProcess.start(
                [
                    "worker", "--coordinator", url, "--root", directory.path, "--allow-addresses",
                    "127.0.0.0/8",
                ], environment: environment)
            let origin = try FaultOrigin()
            origin.route("/gone", FaultOrigin.Response(404, text: "gone\n"))
            let prefetch = try DrayProcess.start(
                [
                    "prefetch", "\(origin.url("/gone"))?X-Amz-Signature=\(signature)",
                    "--to", directory.path("edge"), "--name",
                    "signed",
                ], environment: ["DRAY_TOKEN": token, "DRAY_COORDINATOR": url])
            #expect(try await prefetch.wait() == .exited(1), "\(prefetch.errors)")

            let failed = try DrayProcess.start(
                ["catalog", "show", "signed"],
                environment: ["DRAY_TOKEN": token, "DRAY_COORDINATOR": url])
            #expect(try await failed.wait() == .exited(0), "\(failed.errors)")
            #expect(
                failed.output.hasSuffix(
                    """

                      why: dray assets list 1 --asset-state failed
                      next: dray catalog retry 1, or submit the catalog again

                    """), "\(failed.output)")

            // The log of a private cluster, and settings of origins.
            let state = directory.path("state")
            try FileManager.default.createDirectory(
                atPath: "\(state)/postgresql", withIntermediateDirectories: true)
            try directory.write(
                """
                LOG: password=\(password) token \(token) https://user:\(inLog)@host/
                DETAIL: parameters: $1 = 'http://h/a?sig=\(signature)', $2 = 'k.ts?sig=\(inLog)'
                ERROR: Authorization: Bearer \(header)

                """, to: "state/postgresql.log")
            try directory.write(
                """
                {"\(origin.url())": {"headers": {"X-Key": "\(header)"}}}
                """, to: "origins.json")
            chmod(directory.path("origins.json"), 0o600)

            let path = directory.path("bundle.tar.gz")
            let bundle = try DrayProcess.start(
                [
                    "support-bundle", "-o", path, "--state", state, "--database",
                    "\(database)&password=\(password)", "--origin",
                    "\(origin.url("/gone"))?X-Amz-Signature=\(signature)", "--allow-addresses",
                    "127.0.0.0/8", "--origin-settings", directory.path("origins.json"),
                ], environment: ["DRAY_TOKEN": token, "DRAY_COORDINATOR": url])
            #expect(try await bundle.wait() == .exited(0), "\(bundle.errors)")
            #expect(bundle.output == "\(path)\n")
            #expect(bundle.errors.contains("look at its files before you send it"))
            #expect(bundle.errors.contains("postgresql.log"))
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)

            try await ChildProcess.run(["tar", "-xzf", path, "-C", directory.path])
            let files = try FileManager.default.contentsOfDirectory(
                atPath: directory.path("dray-support"))
            #expect(
                Set(files).isSuperset(of: [
                    "MANIFEST", "doctor.json", "machine.json", "coordinators.json",
                    "database.json", "status.json", "sites.json", "origins.json",
                    "configuration.json", "postgresql.log",
                ]), "\(files)")
            var all = bundle.errors
            for file in files {
                let bytes = try directory.read("dray-support/\(file)")
                all += String(decoding: bytes, as: UTF8.self)
            }
            for secret in [token, password, signature, header, inLog] {
                #expect(!all.contains(secret), "\(secret)")
            }
            #expect(origin.requests.contains { $0.headers["x-key"] == header })
            #expect(all.contains("signed") && all.contains("127.0.0.1:\(origin.port)"))
            let manifest = String(
                decoding: try directory.read("dray-support/MANIFEST"), as: UTF8.self)
            for file in files where file != "MANIFEST" { #expect(manifest.contains(file)) }
            for process in [worker, coordinator] {
                process.signal(SIGTERM)
                #expect(try await process.wait() == .exited(0), "\(process.errors)")
            }
        }
    }
}
