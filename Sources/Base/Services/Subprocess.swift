import CLinux
import Glibc

/// A program could not be started.
package struct SubprocessError: Error, Hashable, Sendable, CustomStringConvertible {
    package let program: String
    /// The errno value.
    package let code: Int32

    package var description: String { "cannot run \(program): \(systemErrorText(code))" }
}

/// Programs that Dray starts: PostgreSQL's, and the few tools around it.
///
/// A child starts in a session of its own, so that Ctrl-C on the terminal reaches Dray alone and
/// Dray stops it in order; with no signal blocked or ignored; in `/`, because a user that it runs
/// as may not be able to enter the caller's directory; and with no descriptor but its three, so
/// that it holds neither a lock of Dray's nor a pipe somebody waits on; and without Dray's secrets in
/// its environment, which the user it runs as can read.
package enum Subprocess {
    /// Starts `arguments[0]`, looked up in PATH, and returns its process id.
    ///
    /// stdout and stderr go to the descriptor `output`; stdin is `/dev/null`. Whoever calls this
    /// asks `exitStatus` for the end.
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

    /// The strings of this process's environment, whose memory stays the environment's.
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

    /// Runs a program to its end and returns its exit status, 128 + n when signal n ended it.
    ///
    /// When the task is cancelled, the program and its children are killed and waited for.
    package static func run(
        _ arguments: [String], output: Int32
    ) async throws(SubprocessError) -> Int32 {
        let pid = try spawn(arguments, output: output)
        var isKilled = false
        while true {
            if let status = exitStatus(of: pid) { return status }
            if Task.isCancelled, !isKilled {
                // The whole session: initdb, for one, has PostgreSQL as a child.
                kill(-pid, SIGKILL)
                isKilled = true
            }
            // A cancelled sleep returns at once; the child is as good as gone then.
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Runs a program that says little and ends soon; what it wrote, nil when it failed.
    package static func output(of arguments: [String]) async -> String? {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC | O_NONBLOCK) == 0 else { return nil }
        defer { close(ends[0]) }
        let status = try? await run(arguments, output: ends[1])
        close(ends[1])
        guard status == 0 else { return nil }
        // A pipe holds 64 KiB; what these programs write is a line.
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = read(ends[0], &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    /// The status of a child that has ended, as `run` gives it; nil while it runs.
    package static func exitStatus(of pid: Int32) -> Int32? {
        var status: Int32 = 0
        let result = waitpid(pid, &status, WNOHANG)
        if result == 0 || (result < 0 && errno == EINTR) { return nil }
        // ECHILD: it was waited for already; nothing more is known of it.
        guard result == pid else { return 0 }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}

/// What the operating system says of an errno value.
package func systemErrorText(_ code: Int32) -> String {
    guard let text = strerror(code) else { return "error \(code)" }
    return String(cString: text)
}
