import Foundation

/// Holds settings that all commands share: the environment and defaults of options.
package enum ClientSettings {
    package static let environment = ProcessInfo.processInfo.environment
    /// Seconds for which transfers may continue after the first signal: less than the 30 that
    /// container runtimes wait before they kill, and than a person's patience.
    package static let drainSeconds = 15.0
    package static let defaultPort = 7400
    package static let defaultListen = "127.0.0.1:\(defaultPort)"

    /// The value of `DRAY_COORDINATOR`; nil if unset or empty.
    package static var coordinator: String? {
        environment["DRAY_COORDINATOR"].flatMap { $0.isEmpty ? nil : $0 }
    }
}
