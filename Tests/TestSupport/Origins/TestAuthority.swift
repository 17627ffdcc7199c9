/// A certificate authority, created by openssl, that issues certificates for tests.
package struct TestAuthority: Sendable {
    private let directory: TemporaryDirectory
    private let own: TestCertificate

    /// The authority's certificate, a PEM file.
    package var certificate: String { own.certificate }

    package init(in directory: TemporaryDirectory, _ name: String = "authority") async throws {
        self.directory = directory
        own = try await Self.issue(
            in: directory, name, subject: "/CN=\(name)",
            extensions: "basicConstraints=critical,CA:TRUE\n", days: 30, by: nil)
    }

    private init(_ directory: TemporaryDirectory, _ own: TestCertificate) {
        self.directory = directory
        self.own = own
    }

    /// Issues a server's certificate.
    ///
    /// - Parameters:
    ///   - file: name of its files in the directory.
    ///   - names: its alternative names.
    ///   - days: validity from now on; negative for an expired one.
    package func server(
        _ file: String = "server", names: String = "DNS:localhost,IP:127.0.0.1", days: Int = 2
    ) async throws -> TestCertificate {
        try await Self.issue(
            in: directory, file, subject: "/CN=\(file)",
            extensions: "subjectAltName=\(names)\nextendedKeyUsage=serverAuth\n", days: days,
            by: own)
    }

    /// Issues a client's certificate.
    package func client(_ name: String, days: Int = 2) async throws -> TestCertificate {
        try await Self.issue(
            in: directory, name, subject: "/O=Dray/CN=\(name)",
            extensions: "extendedKeyUsage=clientAuth\n", days: days, by: own)
    }

    /// Issues an authority below this one.
    package func intermediate(_ name: String) async throws -> TestAuthority {
        TestAuthority(
            directory,
            try await Self.issue(
                in: directory, name, subject: "/CN=\(name)",
                extensions: "basicConstraints=critical,CA:TRUE\n", days: 30, by: own))
    }

    private static func issue(
        in directory: TemporaryDirectory, _ file: String, subject: String, extensions: String,
        days: Int, by authority: TestCertificate?
    ) async throws -> TestCertificate {
        let issued = TestCertificate(
            certificate: directory.path("\(file).pem"), key: directory.path("\(file).key"))
        let request = directory.path("\(file).csr")
        let extensions = try directory.write(extensions, to: "\(file).extensions")
        try await ChildProcess.run([
            "openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-subj", subject, "-nodes", "-keyout", issued.key, "-out", request,
        ])
        // Not counted in a file, because tests issue several at once.
        let serial = String(UInt64.random(in: 1...(.max)))
        let issuer =
            authority.map { ["-CA", $0.certificate, "-CAkey", $0.key, "-set_serial", serial] }
            ?? ["-signkey", issued.key]
        try await ChildProcess.run(
            [
                "openssl", "x509", "-req", "-in", request, "-days", "\(days)", "-extfile",
                extensions, "-out", issued.certificate,
            ] + issuer)
        return issued
    }
}
