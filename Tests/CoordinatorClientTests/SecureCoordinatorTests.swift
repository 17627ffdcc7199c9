import CoordinatorClient
import HTTPServer
import Model
import TLS
import TestSupport
import Testing

/// Coordinators with https, and what is said about those that cannot be trusted.
@Suite struct SecureCoordinatorTests {
    private let directory: TemporaryDirectory
    private let authority: TestAuthority

    init() async throws {
        directory = try TemporaryDirectory("tls")
        authority = try await TestAuthority(in: directory)
    }

    /// Requests the health of a server with that certificate; returns the failure.
    private func failure(
        of pair: TestCertificate?, clients: TLSClientCertificates = .ignored,
        host: String = "localhost", scheme: String = "https",
        tls: CoordinatorTLS
    ) async throws -> Failure? {
        var configuration = HTTPServer.Configuration()
        configuration.tls = try pair.map {
            try TLSServerCertificate(
                TLSServerFiles(certificate: $0.certificate, key: $0.key, clients: clients))
        }
        let server = try HTTPServer.start(configuration) { _ in .text(200, "ok\n") }
        let client = try CoordinatorClient(
            endpoints: "\(scheme)://\(host):\(server.port)", token: .test, retrySeconds: 0,
            tls: tls)
        var failure: Failure?
        do {
            try await client.get("/healthz")
        } catch {
            failure = error
        }
        client.shutdown()
        await server.shutdown(graceSeconds: 0)
        return failure
    }

    private var trusting: CoordinatorTLS { CoordinatorTLS(caFile: authority.certificate) }

    @Test func aCertificateOfTheFilesAuthorityIsTrusted() async throws {
        let pair = try await authority.server()
        #expect(try await failure(of: pair, tls: trusting) == nil)
        #expect(try await failure(of: pair, host: "127.0.0.1", tls: trusting) == nil)
        // Through an authority between, which the server sends.
        let between = try await authority.intermediate("between")
        let leaf = try await between.server("leaf")
        let both = try directory.read("leaf.pem") + directory.read("between.pem")
        let chain = try directory.write(String(decoding: both, as: UTF8.self), to: "chain.pem")
        let whole = TestCertificate(certificate: chain, key: leaf.key)
        #expect(try await failure(of: whole, tls: trusting) == nil)
        #expect(
            try await failure(of: leaf, tls: trusting)?.code == .clusterUntrustedCertificate)
    }

    @Test func eachReasonHasItsCode() async throws {
        let pair = try await authority.server()
        let stranger = try await TestAuthority(in: directory, "stranger")
        let foreign = CoordinatorTLS(caFile: stranger.certificate)
        let untrusted = try await failure(of: pair, tls: foreign)
        #expect(untrusted?.code == .clusterUntrustedCertificate, "\(untrusted?.message ?? "")")
        // Nor is it known to the system.
        let unknown = try await failure(of: pair, tls: CoordinatorTLS())
        #expect(unknown?.code == .clusterUntrustedCertificate, "\(unknown?.message ?? "")")
        let other = try await authority.server("other", names: "DNS:other.example")
        let name = try await failure(of: other, tls: trusting)
        #expect(name?.code == .clusterCertificateName, "\(name?.message ?? "")")
        let old = try await authority.server("old", days: -1)
        let expired = try await failure(of: old, tls: trusting)
        #expect(expired?.code == .clusterCertificateExpired, "\(expired?.message ?? "")")
        let plain = try await failure(of: nil, tls: trusting)
        #expect(plain?.code == .clusterNotTLS, "\(plain?.message ?? "")")
        // The other way round, a coordinator answers with a code of its own.
        let http = try await failure(of: pair, scheme: "http", tls: trusting)
        #expect(http?.message.contains("400") == true, "\(http?.message ?? "")")
    }

    @Test func aClientShowsItsCertificate() async throws {
        let pair = try await authority.server()
        let asked = TLSClientCertificates.required(authorities: authority.certificate)
        let none = try await failure(of: pair, clients: asked, tls: trusting)
        #expect(none?.code == .clusterClientCertificate, "\(none?.message ?? "")")
        let own = try await authority.client("worker")
        var tls = trusting
        (tls.certificate, tls.key) = (own.certificate, own.key)
        #expect(try await failure(of: pair, clients: asked, tls: tls) == nil)
        let stranger = try await TestAuthority(in: directory, "stranger").client("else")
        (tls.certificate, tls.key) = (stranger.certificate, stranger.key)
        let refused = try await failure(of: pair, clients: asked, tls: tls)
        #expect(refused?.code == .clusterClientCertificate, "\(refused?.message ?? "")")
    }

    /// A coordinator whose certificate has run out is skipped for another one.
    @Test func theNextEndpointIsTried() async throws {
        let (good, old) = (
            try await authority.server(), try await authority.server("old", days: -1)
        )
        var servers: [HTTPServer] = []
        for pair in [old, good] {
            var configuration = HTTPServer.Configuration()
            configuration.tls = try TLSServerCertificate(
                TLSServerFiles(certificate: pair.certificate, key: pair.key))
            servers.append(try HTTPServer.start(configuration) { _ in .text(200, "ok\n") })
        }
        let client = try CoordinatorClient(
            endpoints: servers.map { "https://localhost:\($0.port)" }.joined(separator: ","),
            token: .test, retrySeconds: 0, tls: trusting)
        try await client.get("/healthz")
        client.shutdown()
        for server in servers { await server.shutdown(graceSeconds: 0) }
    }
}
