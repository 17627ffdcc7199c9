import Embedded
import Glibc
import Model
import Services
import Synchronization
import Text

/// A coordinator as a process of its own, as in a cluster: what it uses can be told from the rest.
///
/// The same binary as this one. Stopped with `stop`; safe to use from any task.
final class CoordinatorProcess: Sendable {
    let pid: Int32
    let url: String
    private let isRunning = Atomic<Bool>(true)

    private static let startSeconds = 30.0
    private static let stopSeconds = 15.0

    /// Starts it and returns when it listens; its output goes to the file `log`.
    static func start(
        databaseURL: String, tokenFile: TokenFile, log: String
    ) async throws -> CoordinatorProcess {
        let descriptor = open(log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Failure("input.destination", "cannot open \(log): \(systemErrorText(errno))")
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
                "worker.internal", "the coordinator did not start: \(printable(words))")
        }
    }

    private static func spawn(
        _ databaseURL: String, _ tokenFile: TokenFile, output: Int32
    ) throws -> Int32 {
        guard let program = realpath("/proc/self/exe", nil) else {
            throw Failure("worker.internal", "no program to run: \(systemErrorText(errno))")
        }
        defer { free(program) }
        return try Subprocess.spawn(
            [
                "env", "DRAY_TOKEN_FILE=\(tokenFile.path)",
                String(cString: program), "coordinator", "--database", databaseURL, "--listen",
                "127.0.0.1:0",
            ], output: output)
    }

    /// What it says when it listens: `export DRAY_COORDINATOR=http://…`.
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

    /// Ends it in order and waits for its end; again, has no effect.
    func stop() async {
        guard isRunning.exchange(false, ordering: .relaxed) else { return }
        kill(pid, SIGTERM)
        let deadline = ContinuousClock.now + .seconds(Self.stopSeconds)
        while Subprocess.exitStatus(of: pid) == nil {
            if ContinuousClock.now > deadline { kill(pid, SIGKILL) }
            // Stopping goes on when its task is cancelled: it is what the cancellation is for.
            await Task.detached { try? await Task.sleep(for: .milliseconds(5)) }.value
        }
    }
}
