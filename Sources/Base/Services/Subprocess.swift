import CLinux
import EventLoop
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
    /// A started program.
    package struct Child: Sendable {
        package let pid: Int32
        package let end: ProcessEnd

        /// Kills the program and its children, unless it has ended, and waits for its end.
        ///
        /// The whole session: for example, initdb has PostgreSQL as a child. Not cancelled with the
        /// task, whose cancellation may be what kills the program.
        package func kill() async {
            guard !end.hasHappened else { return }
            Glibc.kill(-pid, SIGKILL)
            await Task { [end] in await end.wait() }.value
        }

        /// Returns the exit status of the program, which has ended, or 128 + n if signal n ended
        /// it. Frees its process id, so this is the last use.
        package func reap() -> Int32 {
            var status: Int32 = 0
            var result: Int32
            repeat { result = waitpid(pid, &status, 0) } while result < 0 && errno == EINTR
            // It was reaped already; its status is unknown.
            guard result == pid else { return 0 }
            let signal = status & 0x7F
            return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
        }
    }

    /// Starts `arguments[0]`, found in PATH.
    ///
    /// stdout and stderr go to the descriptor `output`; stdin is `/dev/null`. The caller must wait
    /// for the end and call `reap`.
    package static func spawn(
        _ arguments: [String], output: Int32
    ) throws(SubprocessError) -> Child {
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        var pid: Int32 = 0
        let code = dray_spawn(&pid, words, environmentWithoutSecrets(), "/", output)
        guard code == 0 else { throw SubprocessError(program: arguments[0], code: code) }
        do {
            return Child(pid: pid, end: try ProcessEnd(of: pid))
        } catch {
            kill(-pid, SIGKILL)
            waitpid(pid, nil, 0)
            throw SubprocessError(program: arguments[0], code: error.code)
        }
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

    /// Runs a program to its end and returns its exit status, as `Child.reap` does.
    ///
    /// When the task is cancelled, the program and its children are killed and reaped.
    package static func run(
        _ arguments: [String], output: Int32
    ) async throws(SubprocessError) -> Int32 {
        let child = try spawn(arguments, output: output)
        await child.end.wait()
        // It still runs if the task was cancelled.
        await child.kill()
        return child.reap()
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
}

/// Returns the operating system's text of an errno value.
package func systemErrorText(_ code: Int32) -> String {
    guard let text = strerror(code) else { return "error \(code)" }
    return String(cString: text)
}
