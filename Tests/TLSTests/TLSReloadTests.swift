import Foundation
import TLS
import TestSupport
import Testing

/// A certificate that is read again.
@Suite struct TLSReloadTests {
    private let directory: TemporaryDirectory
    private let authority: TestAuthority

    init() async throws {
        directory = try TemporaryDirectory("tls")
        authority = try await TestAuthority(in: directory)
    }

    private func copy(_ source: TestCertificate) throws {
        for (from, name) in [(source.certificate, "tls.crt"), (source.key, "tls.key")] {
            try? FileManager.default.removeItem(atPath: directory.path(name))
            try FileManager.default.copyItem(atPath: from, toPath: directory.path(name))
        }
    }

    @Test func onlyAPairThatLoadsReplacesTheOldOne() async throws {
        let (old, new) = (try await authority.server("old"), try await authority.server("new"))
        try copy(old)
        let certificate = try TLSServerCertificate(
            TLSServerFiles(certificate: directory.path("tls.crt"), key: directory.path("tls.key")))
        guard case .unchanged = certificate.reload() else { throw Unexpected() }
        // The key of the old pair with the certificate of the new one.
        try copy(TestCertificate(certificate: new.certificate, key: old.key))
        guard case .failed(let failure, isRepeated: false) = certificate.reload(),
            case .foreignKey = failure.reason
        else { throw Unexpected() }
        guard case .failed(_, isRepeated: true) = certificate.reload() else { throw Unexpected() }
        #expect(certificate.context.certificate.subject == "CN=old")
        try copy(new)
        guard case .replaced(let context) = certificate.reload() else { throw Unexpected() }
        #expect(context.certificate.subject == "CN=new")
        #expect(certificate.context === context)
        guard case .unchanged = certificate.reload() else { throw Unexpected() }
        // Another failure, and the same one as before the success, are new ones.
        try FileManager.default.removeItem(atPath: directory.path("tls.key"))
        guard case .failed(let missing, isRepeated: false) = certificate.reload() else {
            throw Unexpected()
        }
        #expect(missing == TLSError(path: directory.path("tls.key"), reason: .missing))
        #expect(certificate.context === context)
    }

    private struct Unexpected: Error {}

    @Test func directoriesOfAllSymlinksAreFound() throws {
        let root = directory.path
        let files = FileManager.default
        // As Kubernetes mounts a secret.
        try files.createDirectory(
            atPath: "\(root)/secret/..2026", withIntermediateDirectories: true)
        _ = try directory.write("x", to: "secret/..2026/tls.crt")
        try files.createSymbolicLink(atPath: "\(root)/secret/..data", withDestinationPath: "..2026")
        try files.createSymbolicLink(
            atPath: "\(root)/secret/tls.crt", withDestinationPath: "..data/tls.crt")
        #expect(
            LinkedDirectories.leading(to: "\(root)/secret/tls.crt") == [
                "\(root)/secret", "\(root)/secret/..2026",
            ])
        // As certbot keeps certificates.
        try files.createDirectory(atPath: "\(root)/live/site", withIntermediateDirectories: true)
        try files.createDirectory(atPath: "\(root)/archive/site", withIntermediateDirectories: true)
        _ = try directory.write("x", to: "archive/site/fullchain3.pem")
        try files.createSymbolicLink(
            atPath: "\(root)/live/site/fullchain.pem",
            withDestinationPath: "../../archive/site/fullchain3.pem")
        let found = LinkedDirectories.leading(to: "\(root)/live/site/fullchain.pem")
        #expect(found.contains("\(root)/live/site"))
        #expect(found.contains { $0.hasSuffix("archive/site") })
        // A plain file, a missing one, and a circle.
        #expect(LinkedDirectories.leading(to: "\(root)/plain.pem") == [root])
        try files.createSymbolicLink(atPath: "\(root)/circle", withDestinationPath: "circle")
        #expect(LinkedDirectories.leading(to: "\(root)/circle") == [root])
    }
}
