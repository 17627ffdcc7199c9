import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray up` with a certificate.
    @Suite(.timeLimit(.minutes(2))) struct UpTLSTests {
        private static func up(
            _ home: EmbeddedHome, _ pair: TestCertificate, _ options: [String]
        ) throws -> ChildProcess {
            try home.start(
                [
                    "up", "--listen", "127.0.0.1:0", "--tls-certificate", pair.certificate,
                    "--tls-key", pair.key, "--state", home.path("state"),
                ] + options)
        }

        @Test func itsWorkersAndCommandsUseHTTPS() async throws {
            let directory = try TemporaryDirectory("up-tls")
            let authority = try await TestAuthority(in: directory)
            let home = try await EmbeddedHome(.current)
            let origin = try FaultOrigin()
            origin.serve("/a", Array("bytes".utf8))
            for (name, options, trusted) in [
                ("own", [], directory.path("own.pem")),
                ("issued", ["--ca-file", authority.certificate], authority.certificate),
            ] {
                let cluster = try Self.up(home, try await authority.server(name), options)
                try await waitUntil(deadlineSeconds: 60, "the start of the cluster") {
                    guard cluster.ending == nil else { throw POSIXFailure(cluster.errors) }
                    return cluster.output.contains("DRAY_TOKEN_FILE")
                }
                #expect(cluster.output.hasPrefix("export DRAY_COORDINATOR=https://127.0.0.1:"))
                #expect(cluster.output.contains("\nexport DRAY_CA_FILE=\(trusted)\n"))
                // By the state directory alone.
                let status = try home.start(["status", "--state", home.path("state")])
                #expect(try await status.wait() == .exited(0), "\(status.errors)")
                // By what it prints.
                let run = try ChildProcess([
                    "bash", "-c", "eval \"$0\"; exec \"$@\"", cluster.output,
                    try DrayProcess.binary(), "prefetch", origin.url("/a"), "--to",
                    directory.path("edge"), "--name", name,
                ])
                #expect(try await run.wait() == .exited(0), "\(run.errors)")
                cluster.signal(SIGTERM)
                #expect(try await cluster.wait() == .exited(0), "\(cluster.errors)")
            }
            // One that its own workers cannot use, and half a pair.
            let other = try Self.up(
                home, try await authority.server("other", names: "DNS:other.invalid"), [])
            #expect(try await other.wait() == .exited(3))
            #expect(
                other.errors.contains("dray: the cluster's own workers cannot use its certificate"),
                "\(other.errors)")
            // What cannot work is rejected before anything is written.
            let (own, wrong) = (
                try await authority.server("right"), try await authority.server("wrong")
            )
            let old = try await authority.server("old", days: -1)
            for (pair, options, code, text) in [
                (
                    TestCertificate(certificate: own.certificate, key: wrong.key), [], 2,
                    "does not belong to the certificate"
                ),
                (TestCertificate(certificate: "none.pem", key: own.key), [], 2, "input.unreadable"),
                (own, ["--ca-file", wrong.certificate], 3, "cluster.untrustedCertificate"),
                (old, ["--ca-file", authority.certificate], 3, "cluster.certificateExpired"),
            ] as [(TestCertificate, [String], Int32, String)] {
                let refused = try home.start(
                    [
                        "up", "--listen", "127.0.0.1:0", "--tls-certificate", pair.certificate,
                        "--tls-key", pair.key, "--state", home.path("unused"),
                    ] + options)
                #expect(try await refused.wait() == .exited(code), "\(refused.errors)")
                #expect(refused.errors.contains(text), "\(refused.errors)")
                #expect(!FileManager.default.fileExists(atPath: home.path("unused")))
            }
            let half = try home.start([
                "up", "--tls-key", directory.path("own.key"), "--state", home.path("state"),
            ])
            #expect(try await half.wait() == .exited(2))
            #expect(half.errors.contains("--tls-key needs --tls-certificate"), "\(half.errors)")
            try await home.expectQuiet()
        }
    }
}
