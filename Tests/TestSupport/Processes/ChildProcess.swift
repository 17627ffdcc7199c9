internal import Foundation
internal import Glibc
internal import Synchronization

/// A program started by a test; killed with the last reference or with the test process.
///
/// Its output goes to files, so that neither process waits for the other to read. It leads a process
/// group, which is killed as soon as the program ends: what a killed script, shell or server has
/// started does not outlive it. When the test process ends, only the program itself gets a signal.
package final class ChildProcess: Sendable {
    package enum Ending: Equatable, Sendable {
        case exited(Int32)
        case signalled(Int32)
    }

    package let pid: Int32
    private let directory: TemporaryDirectory
    private let ended: Ended

    /// Shared with the thread that waits for the process.
    private final class Ended: Sendable {
        let ending = Mutex<Ending?>(nil)
    }

    /// Shared with that thread until the process has an id.
    private final class Started: Sendable {
        let result = Mutex<Result<pid_t, POSIXFailure>?>(nil)
    }

    /// Starts `arguments[0]`, found on `PATH` unless it is a path.
    ///
    /// - Parameters:
    ///   - environment: added to the test's environment.
    ///   - workingDirectory: nil for the test's.
    ///   - user: name of the user to run as; needs root.
    ///   - deathSignal: sent by the kernel when the test process ends.
    package init(
        _ arguments: [String], environment: [String: String] = [:],
        workingDirectory: String? = nil, user: String? = nil, deathSignal: String = "KILL"
    ) throws {
        directory = try TemporaryDirectory("child")
        ended = Ended()
        var command = ["setpriv", "--pdeathsig", deathSignal]
        if let user { command += ["--reuid=\(user)", "--regid=\(user)", "--init-groups"] }
        if let workingDirectory { command += ["env", "--chdir=\(workingDirectory)"] }
        command += arguments
        let merged = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let spawn = Spawn(
            command: command, environment: merged.map { "\($0)=\($1)" },
            output: directory.path("stdout"), errors: directory.path("stderr"))
        pid = try Self.startAndReap(spawn, ended)
    }

    // The waiting thread reaps it; until then the id cannot belong to another process.
    deinit { signal(SIGKILL) }

    /// Nil while it runs.
    package var ending: Ending? { ended.ending.withLock { $0 } }

    /// Its standard output so far.
    package var output: String { text(of: "stdout") }

    /// Its standard error so far.
    package var errors: String { text(of: "stderr") }

    /// Sends a signal unless it has ended.
    package func signal(_ number: Int32) {
        if ending == nil { Glibc.kill(pid, number) }
    }

    /// Waits for its end; throws `DeadlinePassed` with its output otherwise.
    @discardableResult
    package func wait(deadlineSeconds: Double = 60) async throws -> Ending {
        do {
            try await waitUntil(deadlineSeconds: deadlineSeconds) { ending != nil }
        } catch is DeadlinePassed {
            throw DeadlinePassed("the process runs after \(deadlineSeconds) s:\n\(output)\(errors)")
        }
        return ending ?? .exited(-1)
    }

    /// Ends it with a signal, or kills it after `deadlineSeconds`, waits for its end, and removes its
    /// output. For callers that cannot await.
    func endNow(by number: Int32, deadlineSeconds: Double = 10) {
        for number in [number, SIGKILL] where ending == nil {
            signal(number)
            try? blockUntil(deadlineSeconds: deadlineSeconds, "the end of \(pid)") {
                ending != nil
            }
        }
        directory.remove()
    }

    /// Runs a command and returns its standard output; throws if it fails.
    @discardableResult
    package static func run(
        _ arguments: [String], environment: [String: String] = [:], user: String? = nil,
        deadlineSeconds: Double = 60
    ) async throws -> String {
        let child = try ChildProcess(arguments, environment: environment, user: user)
        let ending = try await child.wait(deadlineSeconds: deadlineSeconds)
        guard ending == .exited(0) else {
            throw POSIXFailure("\(arguments): \(ending)\n\(child.output)\(child.errors)")
        }
        return child.output
    }

    private func text(of name: String) -> String {
        String(decoding: (try? directory.read(name)) ?? [], as: UTF8.self)
    }

    /// Starts the process on a separate thread, which then waits for it. The kernel sends the death
    /// signal when the starting thread ends, so that thread has to stay.
    private static func startAndReap(_ spawn: Spawn, _ ended: Ended) throws -> pid_t {
        let started = Started()
        let semaphore = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let result = Result { () throws(POSIXFailure) in try spawn.start() }
            started.result.withLock { $0 = result }
            semaphore.signal()
            guard case .success(let pid) = result else { return }
            // Until it is reaped, no other group can have its number.
            var information = siginfo_t()
            while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            Glibc.kill(-pid, SIGKILL)
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7f
            let ending = signal == 0 ? Ending.exited((status >> 8) & 0xff) : .signalled(signal)
            ended.ending.withLock { $0 = ending }
        }
        semaphore.wait()
        guard let result = started.result.withLock({ $0 }) else { throw POSIXFailure("no process") }
        return try result.get()
    }
}

/// The arguments of one posix_spawnp.
private struct Spawn: Sendable {
    let command: [String]
    let environment: [String]
    let output: String
    let errors: String

    func start() throws(POSIXFailure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        let flags = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o644)
        posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0o644)

        // The test process may block signals that the program must receive.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

        var arguments = command.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, command[0], &actions, &attributes, &arguments, &variables)
        guard code == 0 else { throw POSIXFailure(code, "start \(command[0])") }
        return pid
    }
}
