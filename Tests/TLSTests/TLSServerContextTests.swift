import Foundation
import TLS
import TestSupport
import Testing

/// The files of a server's certificate, and what is said about those that cannot be used.
@Suite struct TLSServerContextTests {
    private let directory: TemporaryDirectory
    private let authority: TestAuthority
    private let server: TestCertificate

    init() async throws {
        directory = try TemporaryDirectory("tls")
        authority = try await TestAuthority(in: directory)
        server = try await authority.server(names: "DNS:one.example,IP:127.0.0.1,DNS:*.two.example")
    }

    private func load(
        _ certificate: String? = nil, key: String? = nil,
        clients: TLSClientCertificates = .ignored
    ) throws(TLSError) -> TLSServerContext {
        try TLSServerContext(
            TLSServerFiles(
                certificate: certificate ?? server.certificate, key: key ?? server.key,
                clients: clients))
    }

    private func failure(_ certificate: String? = nil, key: String? = nil) -> TLSError? {
        #expect(throws: TLSError.self) { try load(certificate, key: key) }
    }

    private var now: Int64 { Int64(Date().timeIntervalSince1970) }

    /// As a client that has a file of authorities, which may be the certificate itself.
    @Test func aCertificateIsTrustedByItsAuthorityAndByItself() async throws {
        let context = try load()
        #expect(context.verdict(trusting: authority.certificate) == .trusted)
        #expect(context.verdict(trusting: server.certificate) == .trusted)
        let other = try await authority.server("other")
        for file in [nil, other.certificate, directory.path("none")] {
            guard case .untrusted(let reason) = context.verdict(trusting: file) else {
                Issue.record("\(file ?? "nil") is trusted")
                continue
            }
            #expect(!reason.isEmpty)
        }
        let old = try await authority.server("old", days: -1)
        #expect(
            try load(old.certificate, key: old.key).verdict(trusting: authority.certificate)
                == .expired)
    }

    @Test func aPairLoadsAndTellsItsNamesAndItsTime() throws {
        let context = try load(clients: .required(authorities: authority.certificate))
        let certificate = context.certificate
        #expect(certificate.names == ["one.example", "*.two.example"])
        #expect(certificate.isFor(address: "127.0.0.1"))
        #expect(!certificate.isFor(address: "127.0.0.2"))
        #expect(certificate.subject == "CN=server")
        // Issued for two days a moment ago.
        let issued = certificate.notBefore
        #expect(certificate.daysLeft(atSeconds: issued) == 2)
        #expect(certificate.daysLeft(atSeconds: issued + 1) == 1)
        #expect(certificate.daysLeft(atSeconds: issued + 86_401) == 0)
        #expect(certificate.daysLeft(atSeconds: now + 3 * 86_400) < 0)
        #expect(context.warnings(atSeconds: now).isEmpty)
        #expect(
            context.warnings(atSeconds: now - 86_400).map(\.description).joined()
                .contains("not valid yet"))
    }

    @Test func oneFileMayHaveBoth() throws {
        let both = try directory.write(
            try directory.text("server.key") + directory.text("server.pem"), to: "both.pem")
        _ = try load(both, key: both)
    }

    @Test func anExpiredCertificateLoadsWithAWarning() async throws {
        let old = try await authority.server("old", days: -1)
        let context = try load(old.certificate, key: old.key)
        #expect(context.certificate.daysLeft(atSeconds: now) < 0)
        #expect(
            context.warnings(atSeconds: now) == [
                .expired(path: old.certificate, seconds: context.certificate.notAfter)
            ])
    }

    @Test func aKeyThatOthersCanReadIsWarnedOf() throws {
        #expect(chmod(server.key, 0o644) == 0)
        #expect(try load().warnings(atSeconds: now) == [.exposedKey(path: server.key)])
        #expect(chmod(server.key, 0o640) == 0)
        #expect(try load().warnings(atSeconds: now).isEmpty)
    }

    @Test func eachFlawNamesItsFile() async throws {
        let missing = directory.path("missing.pem")
        #expect(failure(missing) == TLSError(path: missing, reason: .missing))
        #expect(failure(key: missing) == TLSError(path: missing, reason: .missing))
        let folder = failure(directory.path)
        #expect(folder == TLSError(path: directory.path, reason: .unreadable("Is a directory")))
        let text = try directory.write("not a certificate", to: "text")
        #expect(failure(text) == TLSError(path: text, reason: .notPEM))
        #expect(failure(key: text) == TLSError(path: text, reason: .notPEM))
        let empty = try directory.write("", to: "empty")
        #expect(failure(empty) == TLSError(path: empty, reason: .notPEM))
        #expect(failure(server.key) == TLSError(path: server.key, reason: .noCertificate))
        #expect(
            failure(key: server.certificate)
                == TLSError(path: server.certificate, reason: .noKey))
        let large = try directory.write(String(repeating: "x", count: 2 << 20), to: "large")
        #expect(failure(large) == TLSError(path: large, reason: .tooLarge))
        let damaged = try directory.write(
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", to: "damaged")
        #expect(failure(damaged)?.path == damaged)
        let encrypted = try await TestCertificate(in: directory, "secret", password: "word")
        #expect(
            failure(encrypted.certificate, key: encrypted.key)
                == TLSError(path: encrypted.key, reason: .encryptedKey))
        let noAuthorities = #expect(throws: TLSError.self) {
            try load(clients: .optional(authorities: text))
        }
        #expect(noAuthorities == TLSError(path: text, reason: .notPEM))
    }

    @Test func aKeyOfAnotherCertificateIsFound() async throws {
        let other = try await authority.server("other")
        #expect(
            failure(key: other.key)
                == TLSError(
                    path: other.key,
                    reason: .foreignKey(certificate: server.certificate, belongsTo: nil)))
        let reversed = try directory.write(
            try directory.text("authority.pem") + directory.text("server.pem"), to: "chain.pem")
        let error = failure(reversed)
        #expect(
            error
                == TLSError(
                    path: server.key, reason: .foreignKey(certificate: reversed, belongsTo: 2)))
        #expect(error?.description.contains("must be the first") == true)
    }

    @Test func aWeakKeyIsRefusedInOpenSSLsWords() async throws {
        let (certificate, key) = (directory.path("weak.pem"), directory.path("weak.key"))
        try await ChildProcess.run([
            "openssl", "req", "-x509", "-newkey", "rsa:512", "-nodes", "-subj", "/CN=weak",
            "-keyout", key, "-out", certificate,
        ])
        #expect(failure(certificate, key: key)?.description.contains("key too small") == true)
    }
}

extension TemporaryDirectory {
    func text(_ name: String) throws -> String { String(decoding: try read(name), as: UTF8.self) }
}
