import Dispatch
import Glibc
import Model
import Rendering
import Services
import Synchronization
package import Transfer

/// Fetches lists from URLs before a command starts; during a fetch, signals end the process.
///
/// Sends one request at a time, with the command's address policy and origin settings. Appends all
/// bodies to one unnamed temporary file.
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

    private struct State {
        var engine: TransferEngine?
        var file: UnnamedFile?
        /// Bytes in `file` so far.
        var bytes = 0
        var deadline: ContinuousClock.Instant?
    }

    private let options: TransferEngine.Options
    private let limits: Limits
    private let state = Mutex(State())
    private static let group = "list"

    /// Creates a downloader; the first fetch starts its engine.
    package init(_ options: TransferEngine.Options, limits: Limits = Limits()) {
        self.options = options
        self.limits = limits
    }

    deinit { state.withLock { $0.engine }?.shutdown() }

    /// A range of the temporary file with a list's bytes.
    struct Extent: Sendable {
        var file: UnnamedFile
        var offset: Int
        var count: Int

        /// Reads bytes at an offset into `buffer`; returns their number, 0 at the end.
        func read(_ buffer: inout [UInt8], at place: Int) throws(Failure) -> Int {
            guard place < count else { return 0 }
            return min(try file.read(&buffer, at: offset + place), count - place)
        }
    }

    /// Fetches a list completely. Fails like a transfer, with `origin.tooLarge` beyond the byte
    /// limits and `origin.timeout` beyond the time limits.
    func fetch(_ url: String) throws(Failure) -> Extent {
        let (file, start, deadline) = try begin()
        var random = SystemRandomNumberGenerator()
        var attempt = 1
        while true {
            let sink = SpoolSink(file, at: start)
            let left = (deadline - ContinuousClock.now) / .seconds(1)
            guard left > 0 else { throw overdue(url, limits.totalSeconds) }
            var request = TransferRequest(
                url: url, group: Self.group,
                destination: .sink { (_) throws(Failure) in
                    sink.restart()
                    return sink
                }, role: .file)
            request.isManifest = true
            request.expected.maximumBytes = min(
                limits.documentBytes, limits.totalBytes - Int64(start))
            let seconds = min(left, limits.documentSeconds)
            guard let result = try run(request, seconds: seconds) else {
                throw overdue(url, seconds)
            }
            switch result.outcome {
            case .success:
                let count = sink.count
                state.withLock { $0.bytes = start + count }
                return Extent(file: file, offset: start, count: count)
            case .failure(let failure):
                guard case .attempts(let most) = failure.code.row.retry,
                    attempt < min(most, limits.attempts)
                else { throw failure }
                let delay = RetryPolicy(
                    baseSeconds: 0.5, capSeconds: 10, retryAfterLimitSeconds: 60
                )
                .delaySeconds(
                    attempt: attempt, retryAfter: result.retryAfterSeconds, using: &random)
                pause(seconds: min(delay, left))
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
            url: url, group: Self.group, destination: .sink { (_) throws(Failure) in sample },
            role: .file)
        request.isManifest = true
        guard let result = try? run(request, seconds: seconds) else { return nil }
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
    ) throws(Failure) -> TransferResult? {
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

    private func pause(seconds: Double) {
        let never = DispatchSemaphore(value: 0)
        _ = ProcessSignals.withDefaultAction { never.wait(timeout: .now() + seconds) }
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
