/// A self-signed certificate of `localhost`, created by openssl: it is its own authority.
package struct TestCertificate: Sendable {
    /// PEM files.
    package let certificate: String
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// Creates a certificate.
    ///
    /// - Parameters:
    ///   - name: name of the files in `directory`.
    ///   - days: validity from now on; negative for an expired one.
    ///   - password: password of the key; nil for a plain one.
    package init(
        in directory: TemporaryDirectory, _ name: String, days: Int = 2, password: String? = nil
    ) async throws {
        certificate = directory.path("\(name).pem")
        key = directory.path("\(name).key")
        let request = directory.path("\(name).csr")
        let extensions = try directory.write(
            "basicConstraints=critical,CA:TRUE\nsubjectAltName=DNS:localhost\n",
            to: "\(name).extensions")
        try await ChildProcess.run(
            [
                "openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-subj", "/CN=localhost", "-keyout", key, "-out", request,
            ] + (password.map { ["-passout", "pass:\($0)"] } ?? ["-nodes"]))
        try await ChildProcess.run(
            [
                "openssl", "x509", "-req", "-in", request, "-signkey", key, "-days", "\(days)",
                "-extfile", extensions, "-out", certificate,
            ] + (password.map { ["-passin", "pass:\($0)"] } ?? []))
    }
}
