import Foundation
import TestSupport

/// A terminal on which `dray` runs and a test types.
final class TypedTerminal {
    let process: ChildProcess
    private let directory: TemporaryDirectory
    private let keyboard: FileHandle

    /// - Parameters:
    ///   - command: `dray` and its arguments, each without an apostrophe.
    ///   - environment: added to the test's environment.
    init(
        _ command: [String], environment: [String: String] = [:],
        workingDirectory: String? = nil, deathSignal: String = "KILL"
    ) throws {
        directory = try TemporaryDirectory("terminal")
        let keys = directory.path("keys")
        guard mkfifo(keys, 0o600) == 0 else { throw POSIXFailure(errno, "make \(keys)") }
        // `exec`: Ctrl-C would end a shell that waits for dray, with a status of its own.
        let words = "exec " + command.map { "'\($0)'" }.joined(separator: " ")
        let terminal = ["SHELL": "/bin/sh", "TERM": "xterm", "LANG": "C.UTF-8"]
        process = try ChildProcess(
            [
                "sh", "-c",
                "exec script --quiet --flush --return --command \"$0\" /dev/null <\"$1\"",
                words, keys,
            ],
            environment: terminal.merging(environment) { $1 },
            workingDirectory: workingDirectory, deathSignal: deathSignal)
        keyboard = try FileHandle(forWritingTo: URL(filePath: keys))
    }

    deinit { try? keyboard.close() }

    /// Everything that it has shown.
    var shown: String { process.output }

    func wait(for text: String) async throws {
        try await waitUntil(deadlineSeconds: 60, "'\(text)' on the terminal: \(shown)") {
            guard process.ending == nil || shown.contains(text) else { throw POSIXFailure(shown) }
            return shown.contains(text)
        }
    }

    /// Types once `text` is shown.
    func type(_ keys: String, after text: String) async throws {
        try await wait(for: text)
        try keyboard.write(contentsOf: Data(keys.utf8))
    }
}
