import Foundation
import Glibc
import HTTPServer
import Synchronization
import TLS
import TestSupport
import Testing

/// The server over TLS, with the clients of others: curl and openssl.
@Suite struct TLSServerTests {
    private static func withSecureServer(
        _ clients: TLSClientCertificates = .ignored,
        _ configuration: HTTPServer.Configuration = .init(),
        handler: @escaping HTTPServer.Handler = { .text(200, "\($0.certificateSubject ?? "-")") },
        _ body: (HTTPServer, Certificates) async throws -> Void
    ) async throws {
        let certificates = try await Certificates.shared()
        var configuration = configuration
        configuration.tls = try TLSServerCertificate(certificates.files(clients))
        try await withServer(configuration, handler: handler) { try await body($0, certificates) }
    }

    private func curl(_ server: HTTPServer, _ options: String...) async throws -> ChildProcess {
        let certificates = try await Certificates.shared()
        let child = try ChildProcess(
            ["curl", "-sS", "--cacert", certificates.authority.certificate] + options
                + ["https://localhost:\(server.port)/"])
        try await child.wait()
        return child
    }

    /// Runs `openssl s_client`, which sends `input` and then ends.
    private func sClient(
        _ server: HTTPServer, _ options: String, input: String = "Q\n"
    ) async throws -> ChildProcess {
        let child = try ChildProcess([
            "sh", "-c",
            "printf '\(input)' | openssl s_client -connect 127.0.0.1:\(server.port) \(options)",
        ])
        try await child.wait()
        return child
    }

    @Test(arguments: [
        ["--tlsv1.2", "--tls-max", "1.2"], ["--tlsv1.3"], ["--http2"], ["--no-alpn"],
    ])
    func curlIsServed(_ options: [String]) async throws {
        try await Self.withSecureServer { server, certificates in
            let child = try ChildProcess(
                ["curl", "-sS", "--cacert", certificates.authority.certificate] + options
                    + ["https://localhost:\(server.port)/", "https://127.0.0.1:\(server.port)/"])
            #expect(try await child.wait() == .exited(0), "\(child.errors)")
            #expect(child.output == "--")
        }
    }

    @Test func versionsAndCiphersWithoutSecrecyAreRefused() async throws {
        try await Self.withSecureServer { server, _ in
            let old = try await sClient(server, "-tls1_1 -cipher DEFAULT:@SECLEVEL=0")
            #expect((old.output + old.errors).contains("alert protocol version"))
            let weak = try await sClient(server, "-tls1_2 -cipher AES128-SHA")
            #expect((weak.output + weak.errors).contains("alert handshake failure"))
            let good = try await sClient(server, "-tls1_2")
            #expect(good.output.contains("ECDHE-ECDSA-AES256-GCM-SHA384"))
            #expect(good.output.contains("Compression: NONE"))
        }
    }

    @Test func aClientMayNotRenegotiate() async throws {
        try await Self.withSecureServer { server, _ in
            let child = try await sClient(server, "-tls1_2", input: "R\n")
            #expect((child.output + child.errors).contains("no renegotiation"))
            #expect(try await curl(server).ending == .exited(0))
        }
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func aSessionIsResumedFromItsTicket(_ version: String) async throws {
        try await Self.withSecureServer { server, certificates in
            let session = certificates.directory.path("session\(version)")
            let request = "GET / HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n"
            _ = try await sClient(
                server, "\(version) -ign_eof -sess_out \(session)", input: request)
            let again = try await sClient(
                server, "\(version) -ign_eof -sess_in \(session)", input: request)
            #expect(again.output.contains("Reused, "))
        }
    }

    @Test func onlyHTTP1IsNegotiated() async throws {
        try await Self.withSecureServer { server, _ in
            let both = try await sClient(server, "-alpn h2,http/1.1")
            #expect(both.output.contains("ALPN protocol: http/1.1"))
            let other = try await sClient(server, "-alpn h2")
            #expect((other.output + other.errors).contains("no application protocol"))
        }
    }

    @Test func theEndOfAConnectionIsAnnounced() async throws {
        let deadlines = HTTPServer.Deadlines(idleSeconds: 2)
        try await Self.withSecureServer(.ignored, .init(deadlines: deadlines)) { server, other in
            for header in ["Connection: close", "Connection: keep-alive"] {
                let client = try Client(port: server.port, secure: other.trusting)
                #expect(try await client.exchange("GET", "/", headers: [header])?.status == 200)
                // At once, or when it has been idle for long.
                #expect(try await client.receive() == nil)
                #expect(client.isFinishedByPeer)
            }
        }
    }

    // MARK: Client certificates

    @Test func withoutAnAuthorityNoCertificateIsAskedFor() async throws {
        try await Self.withSecureServer { server, certificates in
            let own = try await certificates.authority.client("unasked")
            let child = try await curl(server, "--cert", own.certificate, "--key", own.key)
            #expect(child.output == "-")
        }
    }

    @Test func anOptionalCertificateIsShownToTheHandler() async throws {
        let file = try await Certificates.shared().authority.certificate
        try await Self.withSecureServer(.optional(authorities: file)) { server, certificates in
            #expect(try await curl(server).output == "-")
            let own = try await certificates.authority.client("optional")
            for version in ["1.2", "1.3"] {
                let child = try await curl(
                    server, "--tls-max", version, "--cert", own.certificate, "--key", own.key)
                #expect(child.output == "CN=optional,O=Dray")
            }
        }
    }

    @Test(arguments: ["1.2", "1.3"])
    func aRequiredCertificateMustBeValid(_ version: String) async throws {
        let shared = try await Certificates.shared()
        let handled = Mutex(0)
        let failures = Mutex<[String]>([])
        let configuration = HTTPServer.Configuration(
            handshakeFailed: { address, reason in
                failures.withLock { $0.append("\(address) \(reason)") }
            })
        try await Self.withSecureServer(
            .required(authorities: shared.authority.certificate), configuration,
            handler: { request in
                handled.withLock { $0 += 1 }
                return .text(200, request.certificateSubject ?? "-")
            }
        ) { server, certificates in
            let own = try await certificates.authority.client("required\(version)")
            let expired = try await certificates.authority.client("late\(version)", days: -1)
            let stranger = try await TestAuthority(
                in: certificates.directory, "strangers\(version)"
            ).client("stranger\(version)")
            let forServers = certificates.server
            #expect(try await curl(server, "--tls-max", version).ending != .exited(0))
            for refused in [expired, stranger, forServers] {
                let child = try await curl(
                    server, "--tls-max", version, "--cert", refused.certificate, "--key",
                    refused.key)
                #expect(child.ending != .exited(0))
            }
            #expect(handled.withLock { $0 } == 0)
            let good = try await curl(
                server, "--tls-max", version, "--cert", own.certificate, "--key", own.key)
            #expect(good.output == "CN=required\(version),O=Dray")
            try await waitUntil(deadlineSeconds: 60, "four failures") {
                failures.withLock(\.count) == 4
            }
            #expect(failures.withLock { $0 }.allSatisfy { $0.hasPrefix("127.0.0.1 ") })
            #expect(failures.withLock { $0[0] }.contains("peer did not return a certificate"))
        }
    }

    // MARK: Reload

    @Test func runningConnectionsKeepTheirCertificate() async throws {
        let certificates = try await Certificates.shared()
        let directory = try TemporaryDirectory("reload")
        let new = try await certificates.authority.server("renewed")
        let path = directory.path("tls.pem")
        func put(_ pair: TestCertificate) throws {
            let both = try [pair.certificate, pair.key].map {
                try String(contentsOfFile: $0, encoding: .utf8)
            }
            try both.joined().write(toFile: path, atomically: true, encoding: .utf8)
        }
        try put(certificates.server)
        let certificate = try TLSServerCertificate(TLSServerFiles(certificate: path, key: path))
        try await withServer(.init(tls: certificate), handler: { _ in .text(200, "x") }) { server in
            // Clients that never stop, and new ones, while the certificate changes.
            let old = try Client(port: server.port, secure: certificates.trusting)
            #expect(try await old.exchange("GET", "/")?.status == 200)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<25 {
                            let client = try Client(
                                port: server.port, secure: certificates.trusting)
                            #expect(try await client.exchange("GET", "/")?.status == 200)
                        }
                    }
                }
                group.addTask {
                    for number in 0..<50 {
                        try put(number % 2 == 0 ? new : certificates.server)
                        guard case .replaced = certificate.reload() else {
                            Issue.record("not replaced")
                            return
                        }
                        #expect(try await old.exchange("GET", "/")?.status == 200)
                    }
                    try put(new)
                    _ = certificate.reload()
                }
                try await group.waitForAll()
            }
            #expect(try await old.exchange("GET", "/")?.status == 200)
            let child = try ChildProcess([
                "sh", "-c", "openssl s_client -connect 127.0.0.1:\(server.port) </dev/null",
            ])
            try await child.wait()
            #expect(child.output.contains("subject=CN = renewed"))
        }
    }
}
