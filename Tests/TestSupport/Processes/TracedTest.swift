internal import Foundation

/// Runs one test of this process's own once more, in a process of its own under strace, which can make
/// its system calls fail.
///
/// The test to be run belongs to a suite that is enabled by a variable of the environment alone.
package enum TracedTest {
    /// The test, or strace, did not end well.
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// Whether strace is there and may trace.
    package static func isPossible() async -> Bool {
        (try? await ChildProcess.run(["strace", "-qq", "-o", "/dev/null", "true"])) != nil
    }

    /// Runs it to its good end, and answers the trace.
    ///
    /// - Parameters:
    ///   - test: the suite and the test's function, `Suite/test`.
    ///   - options: strace's, of all threads.
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
