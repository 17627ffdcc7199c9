import CLinux
import Glibc

/// The failure to start a program.
package struct SubprocessError: Error, Hashable, Sendable, CustomStringConvertible {
    package let program: String
    /// The errno value.
    package let code: Int32

    package var description: String { "cannot run \(program): \(systemErrorText(code))" }
}

/// Starts programs: PostgreSQL's, and a few tools for it.
///
/// A child starts in its own session, so that Ctrl-C on the terminal reaches only Dray, which stops
/// it in order. No signal is blocked or ignored. It starts in `/`, because its user may not be able
/// to enter the caller's directory. It has no descriptors but its three, so that it holds no locks
/// or pipes of Dray. Its environment lacks Dray's secrets, because its user could read them.
package enum Subprocess {
    /// Starts `arguments[0]`, found in PATH, and returns its process id.
    ///
    /// stdout and stderr go to the descriptor `output`; stdin is `/dev/null`. The caller must poll
    /// `exitStatus`.
    package static func spawn(
        _ arguments: [String], output: Int32
    ) throws(SubprocessError) -> Int32 {
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        var pid: Int32 = 0
        let code = dray_spawn(&pid, words, environmentWithoutSecrets(), "/", output)
        guard code == 0 else { throw SubprocessError(program: arguments[0], code: code) }
        return pid
    }

    /// Returns the strings of this process's environment, which keeps their memory.
    private static func environmentWithoutSecrets() -> [UnsafeMutablePointer<CChar>?] {
        var kept: [UnsafeMutablePointer<CChar>?] = []
        let secrets = ["DRAY_TOKEN=", "DRAY_DATABASE_URL="]
        var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
        while let variable = next?.pointee {
            let isSecret = secrets.contains { name in
                strncmp(variable, name, name.utf8.count) == 0
            }
            if !isSecret { kept.append(variable) }
            next = next?.advanced(by: 1)
        }
        return kept + [nil]
    }

    /// Runs a program to its end and returns its exit status, or 128 + n if signal n ended it.
    ///
    /// When the task is cancelled, the program and its children are killed and reaped.
    package static func run(
        _ arguments: [String], output: Int32
    ) async throws(SubprocessError) -> Int32 {
        let pid = try spawn(arguments, output: output)
        var isKilled = false
        while true {
            if let status = exitStatus(of: pid) { return status }
            if Task.isCancelled, !isKilled {
                // The whole session: for example, initdb has PostgreSQL as a child.
                kill(-pid, SIGKILL)
                isKilled = true
            }
            // A cancelled sleep returns at once; the child will end very soon then.
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Runs a short program with little output; returns the output, or nil if it failed.
    package static func output(of arguments: [String]) async -> String? {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC | O_NONBLOCK) == 0 else { return nil }
        defer { close(ends[0]) }
        let status = try? await run(arguments, output: ends[1])
        close(ends[1])
        guard status == 0 else { return nil }
        // A pipe holds 64 KiB; these programs write one line.
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = read(ends[0], &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    /// Returns the status of a child that has ended, as in `run`; nil while it runs.
    package static func exitStatus(of pid: Int32) -> Int32? {
        var status: Int32 = 0
        let result = waitpid(pid, &status, WNOHANG)
        if result == 0 || (result < 0 && errno == EINTR) { return nil }
        // ECHILD: it was reaped already; its status is unknown.
        guard result == pid else { return 0 }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}

/// Returns the operating system's text of an errno value.
package func systemErrorText(_ code: Int32) -> String {
    guard let text = strerror(code) else { return "error \(code)" }
    return String(cString: text)
}
