import CommandLine
package import Configuration
package import CoordinatorClient
import Foundation
import Glibc
import Model
import Synchronization
import Text

/// Holds settings that all commands share: the environment and defaults of options.
package enum ClientSettings {
    private struct State {
        var environment = ProcessInfo.processInfo.environment
        /// The origins of values that the environment does not set, by variable.
        var sources: [String: String] = [:]
    }

    private static let state = Mutex(State())

    /// The environment, with the settings of the configuration file and the command line.
    package static var environment: [String: String] { state.withLock { $0.environment } }

    /// Sets the variables of settings; called once, before the command runs.
    package static func apply(_ values: [ConfiguredSettings.Value]) {
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

    /// Returns the files for https coordinators.
    ///
    /// Throws a `UsageError` for a certificate without its key, and `input.unreadable`.
    package static func coordinatorTLS() throws -> CoordinatorTLS {
        func file(_ setting: CommandSetting) -> String? {
            environment[setting.variable].flatMap { $0.isEmpty ? nil : $0 }
        }
        let files = CoordinatorTLS(
            caFile: file(Settings.caFile), certificate: file(Settings.clientCertificate),
            key: file(Settings.clientKey))
        guard (files.certificate == nil) == (files.key == nil) else {
            throw UsageError(
                "a client's certificate and its key belong together, and one of them is missing",
                hint: "Set --client-certificate and --client-key, or "
                    + "\(Settings.clientCertificate.variable) and \(Settings.clientKey.variable).")
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

    /// The value of `DRAY_COORDINATOR`; nil if unset or empty.
    package static var coordinator: String? {
        environment["DRAY_COORDINATOR"].flatMap { $0.isEmpty ? nil : $0 }
    }
}
