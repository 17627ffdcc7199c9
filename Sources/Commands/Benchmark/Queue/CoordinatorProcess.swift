import Embedded
import EventLoop
import Glibc
import Model
import Services
import Synchronization
import TLS
import Text

/// Runs a coordinator in its own process, as in a cluster, so that its usage is measured
/// separately.
///
/// It is the same binary as this one. Ended by `stop`; safe from any task.
final class CoordinatorProcess: Sendable {
    private let child: Subprocess.Child
    let url: String
    private let isRunning = Atomic<Bool>(true)

    private static let startSeconds = 30.0
    private static let stopSeconds = 15.0

    /// Starts the process and returns when it listens; its output goes to the file `log`.
    static func start(
        databaseURL: String, tokenFile: TokenFile, tls: TLSServerFiles?, log: String
    ) async throws -> CoordinatorProcess {
        let descriptor = open(log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Failure(.inputDestination, "cannot open \(log): \(systemErrorText(errno))")
        }
        defer { close(descriptor) }
        let folder = log.lastIndex(of: "/").map { log[...$0] } ?? "."
        let changes = try DirectoryChanges(in: String(folder))
        let child = try spawn(databaseURL, tokenFile, tls, output: descriptor)
        let deadline = ContinuousClock.now + .seconds(startSeconds)
        while true {
            let change = changes.next()
            let hasEnded = child.end.hasHappened
            let words = text(of: descriptor)
            if let url = url(in: words) { return CoordinatorProcess(child, url) }
            let rest = deadline - .now
            if !hasEnded, rest > .zero, !Task.isCancelled {
                await waitAtMost(rest) {
                    await waitForFirst(of: { await child.end.wait() }, { await change.wait() })
                }
                continue
            }
            await child.kill()
            _ = child.reap()
            try Task.checkCancellation()
            throw Failure(
                .workerInternal, "the coordinator did not start: \(printable(words))")
        }
    }

    private static func spawn(
        _ databaseURL: String, _ tokenFile: TokenFile, _ tls: TLSServerFiles?,
        output: Int32
    ) throws -> Subprocess.Child {
        guard let program = realpath("/proc/self/exe", nil) else {
            throw Failure(.workerInternal, "no program to run: \(systemErrorText(errno))")
        }
        defer { free(program) }
        return try Subprocess.spawn(
            [
                "env", "DRAY_TOKEN_FILE=\(tokenFile.path)",
                String(cString: program), "coordinator", "--database", databaseURL, "--listen",
                "127.0.0.1:0",
            ] + (tls.map { ["--tls-certificate", $0.certificate, "--tls-key", $0.key] } ?? []),
            output: output)
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

    var pid: Int32 { child.pid }

    private init(_ child: Subprocess.Child, _ url: String) {
        self.child = child
        self.url = url
    }

    /// Ends the process in order and waits for its end; further calls have no effect.
    func stop() async {
        guard isRunning.exchange(false, ordering: .relaxed) else { return }
        kill(child.pid, SIGTERM)
        // Waits even if the task is cancelled: the cancellation is what stops the process.
        _ = await Task { [child] in await child.end.wait(atMost: .seconds(Self.stopSeconds)) }.value
        await child.kill()
        _ = child.reap()
    }
}
