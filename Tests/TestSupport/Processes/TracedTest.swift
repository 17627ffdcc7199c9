internal import Foundation

/// Runs one test of this process again in a separate process under strace, which can make its
/// system calls fail.
///
/// The test must belong to a suite that is enabled only by an environment variable.
package enum TracedTest {
    /// The test, or strace, failed.
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// Returns true if strace is installed and may trace.
    package static func isPossible() async -> Bool {
        (try? await ChildProcess.run(["strace", "-qq", "-o", "/dev/null", "true"])) != nil
    }

    /// Runs the test, which must pass, and returns the trace.
    ///
    /// - Parameters:
    ///   - test: the suite and the test's function, `Suite/test`.
    ///   - options: options of strace, for all threads.
    package static func run(
        _ test: String, under options: [String], environment: [String: String]
    ) async throws -> String {
        let directory = try TemporaryDirectory("traced")
        let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let command = ["strace", "-f", "-qq", "-o", directory.path("trace")] + options
        let filter = ["--testing-library", "swift-testing", "--filter", "\(test)\\("]
        let child = try ChildProcess(command + [executable] + filter, environment: environment)
        let ending = try await child.wait(deadlineSeconds: 120)
        let report = child.output + child.errors
        guard ending == .exited(0), report.contains("Test run with 1 test") else {
            throw Failed(description: "\(ending)\n\(report)")
        }
        return String(decoding: try directory.read("trace"), as: UTF8.self)
    }
}
