import Client
import CommandLine
import CoordinatorClient
import Glibc
import Model
import TLS
import Text

/// Options of https between coordinators, workers and clients.
enum TLSOptions {
    // MARK: Clients and workers

    static let client = [
        CommandOption(
            "ca-file", .text(placeholder: "FILE"),
            help: "Certificate authorities (PEM) of https coordinators, instead of the system's. "
                + "Default: $\(caVariable)."),
        CommandOption(
            "client-certificate", .text(placeholder: "FILE"),
            help: "This client's certificate (PEM), for coordinators that ask for one. Default: "
                + "$\(certificateVariable)."),
        CommandOption(
            "client-key", .text(placeholder: "FILE"),
            help: "The certificate's key (PEM). Default: $\(keyVariable)."),
    ]

    private static let caVariable = ClientSettings.caVariable
    private static let certificateVariable = ClientSettings.clientCertificateVariable
    private static let keyVariable = ClientSettings.clientKeyVariable

    /// Returns the files of the command line, or else of the environment.
    static func client(_ arguments: Arguments) throws -> CoordinatorTLS {
        var files = ClientSettings.coordinatorTLS
        files.caFile = arguments.text("ca-file") ?? files.caFile
        if arguments.text("client-certificate") != nil || arguments.text("client-key") != nil {
            files.certificate = arguments.text("client-certificate")
            files.key = arguments.text("client-key")
        }
        guard (files.certificate == nil) == (files.key == nil) else {
            throw UsageError(
                "a client's certificate and its key belong together, and one of them is missing",
                hint: "Set --client-certificate and --client-key, or \(certificateVariable) and "
                    + "\(keyVariable).")
        }
        for path in [files.caFile, files.certificate, files.key].compactMap(\.self) {
            guard access(path, R_OK) == 0 else {
                throw Failure(
                    .inputUnreadable,
                    "\(printable(path)) cannot be read: \(String(cString: strerror(errno)))")
            }
        }
        return files
    }

    // MARK: Coordinators

    static let server = [
        CommandOption(
            "tls-certificate", .text(placeholder: "FILE"),
            help: "Serve https with this certificate and its chain (PEM). Read again when it "
                + "changes, and on SIGHUP."),
        CommandOption(
            "tls-key", .text(placeholder: "FILE"), help: "The certificate's key (PEM)."),
        CommandOption(
            "tls-client-ca", .text(placeholder: "FILE"),
            help: "Ask clients for a certificate that one of these authorities (PEM) issued."),
        CommandOption(
            "tls-client", .text(placeholder: "WHEN"),
            help: "required refuses clients without a certificate, optional does not. Default: "
                + "required."),
    ]

    /// Returns the files of a coordinator's certificate; nil for plain HTTP.
    static func server(_ arguments: Arguments) throws(UsageError) -> TLSServerFiles? {
        let certificate = arguments.text("tls-certificate")
        let authorities = arguments.text("tls-client-ca")
        guard let certificate, let key = arguments.text("tls-key") else {
            let given = server.first { arguments.text($0.name) != nil }
            guard let given else { return nil }
            throw UsageError(
                "--\(given.name) needs --tls-certificate and --tls-key",
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
            switch arguments.text("tls-client") ?? "required" {
            case "required": .required(authorities: authorities)
            case "optional": .optional(authorities: authorities)
            case let other:
                throw UsageError(
                    "--tls-client is '\(printable(other))'", hint: "Use required or optional.")
            }
        return TLSServerFiles(certificate: certificate, key: key, clients: clients)
    }
}
