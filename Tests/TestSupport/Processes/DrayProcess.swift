internal import Foundation
internal import Glibc
internal import Model

/// The built `dray` binary as a process.
package enum DrayProcess {
    /// Returns `DRAY_BINARY` if it is set, otherwise the binary built with the tests.
    package static func binary() throws -> String {
        if let path = ProcessInfo.processInfo.environment["DRAY_BINARY"] { return path }
        return try built("dray")
    }

    /// Returns a program built with the tests.
    package static func built(_ name: String) throws -> String {
        guard let executable = realpath("/proc/self/exe", nil) else {
            throw POSIXFailure(errno, "find the test executable")
        }
        defer { free(executable) }
        let folder = (String(cString: executable) as NSString).deletingLastPathComponent
        let path = "\(folder)/\(name)"
        guard access(path, X_OK) == 0 else {
            throw POSIXFailure(errno, "find \(path)")
        }
        return path
    }

    /// Starts `dray` with `arguments`; the caller waits for it or signals it.
    ///
    /// - Parameters:
    ///   - environment: added to the test's environment without its `DRAY_` variables, and to the
    ///     tests' token; an empty `DRAY_TOKEN` removes it.
    ///   - program: a program other than `dray`.
    package static func start(
        _ arguments: [String], environment: [String: String] = [:],
        workingDirectory: String? = nil, program: String? = nil
    ) throws -> ChildProcess {
        let inherited = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("DRAY_") }
        let cleared = inherited.flatMap { ["--unset=\($0)"] }
        let token = ["DRAY_TOKEN": AccessToken.test.text, "DRAY_CONFIG": "/dev/null"]
        let set = token.merging(environment) { $1 }.map { "\($0)=\($1)" }
        return try ChildProcess(
            ["env"] + cleared + set + [try program ?? binary()] + arguments,
            workingDirectory: workingDirectory)
    }
}
