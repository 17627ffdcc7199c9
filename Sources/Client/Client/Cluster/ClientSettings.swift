import Foundation

/// Holds what every command shares: the environment, and what stands in for options.
package enum ClientSettings {
    package static let environment = ProcessInfo.processInfo.environment
    /// How long transfers under way may go on after the first signal, in seconds: less than the 30
    /// that container runtimes wait before they kill, and than a person's patience.
    package static let drainSeconds = 15.0
    package static let defaultPort = 7400
    package static let defaultListen = "127.0.0.1:\(defaultPort)"

    /// `DRAY_COORDINATOR`, nil when it is not set or empty.
    package static var coordinator: String? {
        environment["DRAY_COORDINATOR"].flatMap { $0.isEmpty ? nil : $0 }
    }
}
