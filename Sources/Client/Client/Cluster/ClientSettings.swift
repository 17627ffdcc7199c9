package import CoordinatorClient
import Foundation

/// Holds settings that all commands share: the environment and defaults of options.
package enum ClientSettings {
    package static let environment = ProcessInfo.processInfo.environment
    /// Seconds for which transfers may continue after the first signal: less than the 30 that
    /// container runtimes wait before they kill, and than a person's patience.
    package static let drainSeconds = 15.0
    package static let defaultPort = 7400
    package static let defaultListen = "127.0.0.1:\(defaultPort)"

    package static let caVariable = "DRAY_CA_FILE"
    package static let clientCertificateVariable = "DRAY_CLIENT_CERTIFICATE"
    package static let clientKeyVariable = "DRAY_CLIENT_KEY"

    /// The files for https coordinators that the environment names.
    package static var coordinatorTLS: CoordinatorTLS {
        func file(_ variable: String) -> String? {
            environment[variable].flatMap { $0.isEmpty ? nil : $0 }
        }
        return CoordinatorTLS(
            caFile: file(caVariable), certificate: file(clientCertificateVariable),
            key: file(clientKeyVariable))
    }

    /// The value of `DRAY_COORDINATOR`; nil if unset or empty.
    package static var coordinator: String? {
        environment["DRAY_COORDINATOR"].flatMap { $0.isEmpty ? nil : $0 }
    }
}
