import Client
import CommandLine
import TLS

/// Options of https between coordinators, workers and clients.
enum TLSOptions {
    // MARK: Clients and workers

    static let authorities = CommandOption(
        "ca-file", .file(placeholder: "FILE"), setting: Settings.caFile,
        help: "Certificate authorities (PEM) of https coordinators, instead of the system's. "
            + "Default: $DRAY_CA_FILE.")

    /// Set `ClientSettings.coordinatorTLS`.
    static let client = [
        authorities,
        CommandOption(
            "client-certificate", .file(placeholder: "FILE"), setting: Settings.clientCertificate,
            help: "This client's certificate (PEM), for coordinators that ask for one. Default: "
                + "$DRAY_CLIENT_CERTIFICATE."),
        CommandOption(
            "client-key", .file(placeholder: "FILE"), setting: Settings.clientKey,
            help: "The certificate's key (PEM). Default: $DRAY_CLIENT_KEY."),
    ]

    // MARK: Coordinators

    static let certificate = [
        CommandOption(
            "tls-certificate", .file(placeholder: "FILE"),
            help: "Serve https with this certificate and its chain (PEM). Read again when it "
                + "changes, and on SIGHUP."),
        CommandOption(
            "tls-key", .file(placeholder: "FILE"), help: "The certificate's key (PEM)."),
    ]

    static let server =
        certificate + [
            CommandOption(
                "tls-client-ca", .file(placeholder: "FILE"),
                help: "Ask clients for a certificate that one of these authorities (PEM) issued."),
            CommandOption(
                "tls-client", .choice(placeholder: "WHEN", of: ["required", "optional"]),
                help: "required rejects clients without a certificate, optional does not. Default: "
                    + "required."),
        ]

    /// Returns the files of a coordinator's certificate; nil for plain HTTP.
    static func server(_ arguments: Arguments) throws(UsageError) -> TLSServerFiles? {
        let certificate = arguments.text("tls-certificate")
        let authorities = arguments.text("tls-client-ca")
        guard let certificate, let key = arguments.text("tls-key") else {
            let given = server.first { arguments.text($0.name) != nil }
            guard let given else { return nil }
            let missing = ["tls-certificate", "tls-key"].filter { arguments.text($0) == nil }
            throw UsageError(
                "--\(given.name) needs " + missing.map { "--" + $0 }.joined(separator: " and "),
                hint: "Set both, or none for plain HTTP.")
        }
        guard let authorities else {
            guard arguments.text("tls-client") == nil else {
                throw UsageError(
                    "--tls-client needs --tls-client-ca",
                    hint: "Set it to the authorities that issue clients' certificates.")
            }
            return TLSServerFiles(certificate: certificate, key: key)
        }
        let clients: TLSClientCertificates =
            arguments.text("tls-client") == "optional"
            ? .optional(authorities: authorities) : .required(authorities: authorities)
        return TLSServerFiles(certificate: certificate, key: key, clients: clients)
    }
}
