import CommandLine
package import Configuration
import Foundation
import Synchronization

/// Holds settings that all commands share: the environment and defaults of options.
package enum ClientSettings {
    private struct State {
        var environment = ProcessInfo.processInfo.environment
        /// Where values come from that the environment does not set, by variable.
        var sources: [String: String] = [:]
    }

    private static let state = Mutex(State())

    /// The environment, with the settings of the configuration file and the command line.
    package static var environment: [String: String] { state.withLock { $0.environment } }

    /// Sets the variables of settings; called once, before the command runs.
    package static func apply(_ values: [Configuration.Value]) {
        state.withLock { state in
            for value in values {
                let variable = value.setting.variable
                state.environment[variable] = value.text.isEmpty ? nil : value.text
                switch value.origin {
                case .defaults, .environment: break
                case .file(let path, let line):
                    state.sources[variable] = "\(path):\(line): \(value.setting.name)"
                case .commandLine: state.sources[variable] = "--\(value.setting.name)"
                }
            }
        }
    }

    /// Returns what set a variable, for messages: the variable, a line of the configuration file,
    /// or an option.
    package static func source(of variable: String) -> String {
        state.withLock { $0.sources[variable] } ?? variable
    }

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
