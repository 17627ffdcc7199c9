import Dispatch
import Glibc
package import Model
import Rendering
package import Services
import Synchronization
package import Transfer

/// Fetches lists from URLs: before a command starts, or in a worker.
///
/// Sends one request at a time, with the address policy and origin settings of its engine. Appends
/// all bodies to one unnamed temporary file.
package final class ListDownloader: Sendable {
    package struct Limits: Sendable {
        /// Maximum bytes of one list as transferred.
        var documentBytes: Int64 = 1 << 30
        /// Maximum bytes of a list and all its sitemaps.
        var totalBytes: Int64 = 8 << 30
        var documentSeconds = 600.0
        var totalSeconds = 3_600.0
        /// Maximum number of requests for one document.
        var attempts = 3

        package init() {}
    }

    /// The process that waits for lists.
    private enum Host {
        /// A command, which starts an engine with the first fetch. Signals end the process during a
        /// fetch.
        case command(TransferEngine.Options)
        /// A worker, whose jobs continue meanwhile. The group cancels its transfers.
        case worker(TransferEngine, group: String)
    }

    private struct State {
        /// A command's engine.
        var engine: TransferEngine?
        var file: UnnamedFile?
        /// Bytes in `file` so far.
        var bytes = 0
        var deadline: ContinuousClock.Instant?
    }

    /// A command or job waits for the list, so the delays are short.
    package static let backoff = Backoff(maxSeconds: 10, retryAfterLimitSeconds: 60)

    private let host: Host
    private let limits: Limits
    private let delays: RetryDelays
    private let state = Mutex(State())

    /// Creates the downloader of a command; the first fetch starts its engine.
    package init(
        _ options: TransferEngine.Options, limits: Limits = Limits(),
        delays: RetryDelays = RetryDelays(ListDownloader.backoff)
    ) {
        host = .command(options)
        self.limits = limits
        self.delays = delays
    }

    /// Creates the downloader of a worker.
    package init(
        _ engine: TransferEngine, group: String, limits: Limits = Limits(),
        delays: RetryDelays = RetryDelays(ListDownloader.backoff)
    ) {
        host = .worker(engine, group: group)
        self.limits = limits
        self.delays = delays
    }

    private var group: String {
        guard case .worker(_, let group) = host else { return "list" }
        return group
    }

    deinit { state.withLock { $0.engine }?.shutdown() }

    /// A range of the temporary file with a list's bytes.
    struct Extent: Sendable {
        var file: UnnamedFile
        var offset: Int
        var count: Int

        /// Reads bytes at an offset into `buffer`; returns their number, 0 at the end.
        func read(_ buffer: inout [UInt8], at index: Int) throws(Failure) -> Int {
            guard index < count else { return 0 }
            return min(try file.read(&buffer, at: offset + index), count - index)
        }
    }

    /// A fetched list.
    struct Download: Sendable {
        var extent: Extent
        /// The URL after redirects.
        var finalURL: String
        var sha256: String
        var validator: String?
        /// True if the origin confirmed the validator, and sent nothing.
        var isUnchanged: Bool
    }

    /// Fetches a list completely. Fails like a transfer, with `origin.tooLarge` beyond the byte
    /// limits and `origin.timeout` beyond the time limits.
    ///
    /// - Parameters:
    ///   - isPage: true if a web page is expected: the listing of a directory.
    ///   - validator: only a list with another one is sent; nil for any.
    func fetch(
        _ url: String, isPage: Bool = false, unless validator: String? = nil
    ) async throws(Failure) -> Download {
        let (file, start, deadline) = try begin()
        var attempt = 1
        while true {
            let sink = SpoolSink(file, at: start)
            let left = (deadline - ContinuousClock.now) / .seconds(1)
            guard left > 0 else { throw overdue(url, limits.totalSeconds) }
            var request = TransferRequest(
                url: url, group: group,
                destination: .sink { (_) throws(Failure) in
                    sink.restart()
                    return sink
                }, role: isPage ? .data : .file)
            request.isManifest = !isPage
            request.validator = validator
            request.expected.maximumBytes = min(
                limits.documentBytes, limits.totalBytes - Int64(start))
            let seconds = min(left, limits.documentSeconds)
            guard let result = try await run(request, seconds: seconds) else {
                throw overdue(url, seconds)
            }
            switch result.outcome {
            case .success(let fetched):
                let count = fetched.isUnchanged ? 0 : sink.count
                state.withLock { $0.bytes = start + count }
                return Download(
                    extent: Extent(file: file, offset: start, count: count),
                    finalURL: fetched.response.finalURL, sha256: fetched.sha256,
                    validator: fetched.response.validator, isUnchanged: fetched.isUnchanged)
            case .failure(let failure):
                guard case .attempts(let most) = failure.code.row.retry,
                    attempt < min(most, limits.attempts)
                else { throw failure }
                let delay = delays.seconds(
                    attempt: attempt, retryAfter: result.retryAfterSeconds)
                await pause(seconds: min(delay, left))
                attempt += 1
            }
        }
    }

    /// Returns at most `bytes` from the start of a URL's body, and true if these are all. Returns
    /// nil if they are not available within `seconds`.
    package func start(of url: String, bytes: Int, seconds: Double) -> (
        bytes: [UInt8], isWhole: Bool
    )? {
        let sample = SampleSink(bytes)
        var request = TransferRequest(
            url: url, group: group, destination: .sink { (_) throws(Failure) in sample },
            role: .file)
        request.isManifest = true
        guard let result = try? block(request, seconds: seconds) else { return nil }
        if case .success = result.outcome { return (sample.bytes, true) }
        return sample.isFull ? (sample.bytes, false) : nil
    }

    private func begin() throws(Failure) -> (UnnamedFile, Int, ContinuousClock.Instant) {
        let known = state.withLock { $0.file }
        let file: UnnamedFile
        if let known { file = known } else { file = try UnnamedFile() }
        return state.withLock { state in
            state.file = file
            let deadline = state.deadline ?? .now + .seconds(limits.totalSeconds)
            state.deadline = deadline
            return (file, state.bytes, deadline)
        }
    }

    private func overdue(_ url: String, _ seconds: Double) -> Failure {
        Failure(
            .originTimeout,
            "\(Redaction.shown(url)): the list was not complete after "
                + "\(HumanFormat.fixed(seconds, places: 0)) s")
    }

    /// Runs one request to its end; returns nil after a timeout.
    private func run(
        _ request: TransferRequest, seconds: Double
    ) async throws(Failure) -> TransferResult? {
        guard case .worker(let engine, _) = host else {
            return try block(request, seconds: seconds)
        }
        let timeout = Timeout()
        let result = await withCheckedContinuation { continuation in
            let transfer = engine.submit(request) { _, result in
                timeout.end()
                continuation.resume(returning: result)
            }
            timeout.begin(seconds: seconds) { engine.cancel(transfer) }
        }
        if case .failure = result.outcome, timeout.isOver { return nil }
        return result
    }

    /// Does the same in a command.
    private func block(
        _ request: TransferRequest, seconds: Double
    ) throws(Failure) -> TransferResult? {
        guard case .command(let options) = host else {
            preconditionFailure("a worker does not block")
        }
        let engine: TransferEngine
        if let known = state.withLock({ $0.engine }) {
            engine = known
        } else {
            engine = try TransferEngine(options: options)
            state.withLock { $0.engine = engine }
        }
        let ended = DispatchSemaphore(value: 0)
        let box = ResultBox()
        let transfer = engine.submit(request) { _, outcome in
            box.set(outcome)
            ended.signal()
        }
        let isInTime = ProcessSignals.withDefaultAction {
            ended.wait(timeout: .now() + seconds) == .success
        }
        guard !isInTime else { return box.value }
        engine.cancel(transfer)
        ended.wait()
        return nil
    }

    private func pause(seconds: Double) async {
        guard case .command = host else {
            try? await Task.sleep(for: .seconds(seconds))
            return
        }
        let never = DispatchSemaphore(value: 0)
        _ = ProcessSignals.withDefaultAction { never.wait(timeout: .now() + seconds) }
    }
}

/// Ends a transfer of a worker that takes too long.
private final class Timeout: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var hasEnded = false
        var isOver = false
    }

    private let state = Mutex(State())

    var isOver: Bool { state.withLock { $0.isOver } }

    func begin(seconds: Double, _ cancel: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard !state.hasEnded else { return }
            state.task = Task {
                do { try await Task.sleep(for: .seconds(seconds)) } catch { return }
                self.state.withLock { $0.isOver = true }
                cancel()
            }
        }
    }

    func end() {
        state.withLock { state in
            state.hasEnded = true
            state.task?.cancel()
            state.task = nil
        }
    }
}

private final class ResultBox: Sendable {
    private let result = Mutex<TransferResult?>(nil)

    var value: TransferResult? { result.withLock { $0 } }

    func set(_ value: TransferResult) { result.withLock { $0 = value } }
}

/// Appends a body to a temporary file.
private final class SpoolSink: TransferSink {
    private let file: UnnamedFile
    private let start: Int
    private let length = Mutex(0)

    init(_ file: UnnamedFile, at start: Int) {
        self.file = file
        self.start = start
    }

    var count: Int { length.withLock { $0 } }

    func restart() { length.withLock { $0 = 0 } }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {
        try file.write(bytes, at: start + Int(offset))
        length.withLock { $0 = max($0, Int(offset) + bytes.count) }
    }
}

/// Takes the start of a body, and then ends the transfer.
private final class SampleSink: TransferSink {
    private let most: Int
    private let taken = Mutex<[UInt8]>([])

    init(_ most: Int) { self.most = most }

    var bytes: [UInt8] { taken.withLock { $0 } }
    var isFull: Bool { taken.withLock { $0.count } >= most }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {
        let isFull = taken.withLock { taken in
            taken += bytes.prefix(most - taken.count)
            return taken.count >= most
        }
        if isFull { throw Failure(.workerCancelled, "the rest is not needed") }
    }
}
