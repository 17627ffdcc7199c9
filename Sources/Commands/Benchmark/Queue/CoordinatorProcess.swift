import Embedded
import Glibc
import Model
import Services
import Synchronization
import Text

/// Runs a coordinator in its own process, as in a cluster, so that its usage is measured
/// separately.
///
/// It is the same binary as this one. Ended by `stop`; safe from any task.
final class CoordinatorProcess: Sendable {
    let pid: Int32
    let url: String
    private let isRunning = Atomic<Bool>(true)

    private static let startSeconds = 30.0
    private static let stopSeconds = 15.0

    /// Starts the process and returns when it listens; its output goes to the file `log`.
    static func start(
        databaseURL: String, tokenFile: TokenFile, log: String
    ) async throws -> CoordinatorProcess {
        let descriptor = open(log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Failure(.inputDestination, "cannot open \(log): \(systemErrorText(errno))")
        }
        defer { close(descriptor) }
        let pid = try spawn(databaseURL, tokenFile, output: descriptor)
        let deadline = ContinuousClock.now + .seconds(startSeconds)
        while true {
            let words = text(of: descriptor)
            if let url = url(in: words) { return CoordinatorProcess(pid: pid, url: url) }
            let status = Subprocess.exitStatus(of: pid)
            let isOver = ContinuousClock.now > deadline || Task.isCancelled
            if status == nil, !isOver {
                try? await Task.sleep(for: .milliseconds(5))
                continue
            }
            if status == nil { kill(pid, SIGKILL) }
            try Task.checkCancellation()
            throw Failure(
                .workerInternal, "the coordinator did not start: \(printable(words))")
        }
    }

    private static func spawn(
        _ databaseURL: String, _ tokenFile: TokenFile, output: Int32
    ) throws -> Int32 {
        guard let program = realpath("/proc/self/exe", nil) else {
            throw Failure(.workerInternal, "no program to run: \(systemErrorText(errno))")
        }
        defer { free(program) }
        return try Subprocess.spawn(
            [
                "env", "DRAY_TOKEN_FILE=\(tokenFile.path)",
                String(cString: program), "coordinator", "--database", databaseURL, "--listen",
                "127.0.0.1:0",
            ], output: output)
    }

    /// Finds the line that it prints when it listens: `export DRAY_COORDINATOR=http://…`.
    private static func url(in text: String) -> String? {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let prefix = "export DRAY_COORDINATOR="
            if line.hasPrefix(prefix) { return String(line.dropFirst(prefix.count)) }
        }
        return nil
    }

    private static func text(of descriptor: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    private init(pid: Int32, url: String) {
        self.pid = pid
        self.url = url
    }

    /// Ends the process in order and waits for its end; further calls have no effect.
    func stop() async {
        guard isRunning.exchange(false, ordering: .relaxed) else { return }
        kill(pid, SIGTERM)
        let deadline = ContinuousClock.now + .seconds(Self.stopSeconds)
        while Subprocess.exitStatus(of: pid) == nil {
            if ContinuousClock.now > deadline { kill(pid, SIGKILL) }
            // Sleeps even if the task is cancelled: the cancellation is what stops the process.
            await Task.detached { try? await Task.sleep(for: .milliseconds(5)) }.value
        }
    }
}
