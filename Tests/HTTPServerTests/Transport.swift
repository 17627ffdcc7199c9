import HTTPServer
import TLS
import TestSupport
import Testing

/// How the clients and servers of a test speak: plainly, or over TLS.
struct Transport: Sendable {
    @TaskLocal static var current = Transport()

    /// Nil for plain HTTP.
    var certificate: TLSServerCertificate?
    var options: SecureSocket.Options?

    /// Starts a server that speaks so.
    static func start(
        _ configuration: HTTPServer.Configuration, handler: @escaping HTTPServer.Handler
    ) throws -> HTTPServer {
        var configuration = configuration
        configuration.tls = configuration.tls ?? current.certificate
        return try HTTPServer.start(configuration, handler: handler)
    }
}

/// The certificates of all tests of this target.
struct Certificates: Sendable {
    let directory: TemporaryDirectory
    let authority: TestAuthority
    let server: TestCertificate

    static func shared() async throws -> Certificates { try await made.value }

    private static let made = Task {
        let directory = try TemporaryDirectory("tls")
        let authority = try await TestAuthority(in: directory)
        return Certificates(
            directory: directory, authority: authority, server: try await authority.server())
    }

    func files(_ clients: TLSClientCertificates = .ignored) -> TLSServerFiles {
        TLSServerFiles(certificate: server.certificate, key: server.key, clients: clients)
    }

    /// Options of a client that trusts the authority.
    var trusting: SecureSocket.Options { SecureSocket.Options(authorities: authority.certificate) }
}

/// Runs each test of a suite twice: over plain connections, and over TLS.
struct BothTransports: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await function()
        let certificates = try await Certificates.shared()
        let secure = Transport(
            certificate: try TLSServerCertificate(certificates.files()),
            options: certificates.trusting)
        try await Transport.$current.withValue(secure) { try await function() }
    }
}

extension Trait where Self == BothTransports {
    static var overBothTransports: Self { BothTransports() }
}
