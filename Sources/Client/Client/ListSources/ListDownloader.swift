import Dispatch
import Glibc
import Model
import Rendering
import Services
import Synchronization
package import Transfer

/// Fetches lists from URLs, before anything of a command runs: until a fetch has ended signals end the
/// process.
///
/// One request at a time, with the command's own address policy and settings of origins. What comes is
/// appended to one temporary file without a name.
package final class ListDownloader: Sendable {
    package struct Limits: Sendable {
        /// Of one list as it is transferred, in bytes.
        var documentBytes: Int64 = 1 << 30
        /// Of a list and all sitemaps that it names.
        var totalBytes: Int64 = 8 << 30
        var documentSeconds = 600.0
        var totalSeconds = 3_600.0
        /// How often one is requested.
        var attempts = 3

        package init() {}
    }

    private struct State {
        var engine: TransferEngine?
        var file: UnnamedFile?
        /// Of `file`, so far.
        var bytes = 0
        var deadline: ContinuousClock.Instant?
    }

    private let options: TransferEngine.Options
    private let limits: Limits
    private let state = Mutex(State())
    private static let group = "list"

    /// Starts nothing before the first fetch.
    package init(_ options: TransferEngine.Options, limits: Limits = Limits()) {
        self.options = options
        self.limits = limits
    }

    deinit { state.withLock { $0.engine }?.shutdown() }

    /// Where a list's bytes lie in the temporary file.
    struct Extent: Sendable {
        var file: UnnamedFile
        var offset: Int
        var count: Int

        /// Fills `buffer` with what is at `place` of the list; answers how much that is, 0 at the end.
        func read(_ buffer: inout [UInt8], at place: Int) throws(Failure) -> Int {
            guard place < count else { return 0 }
            return min(try file.read(&buffer, at: offset + place), count - place)
        }
    }

    /// Fetches a list whole. Fails as a transfer does, with `origin.tooLarge` beyond the limits of bytes and
    /// `origin.timeout` beyond those of time.
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
            request.maximumBytes = min(limits.documentBytes, limits.totalBytes - Int64(start))
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

    /// The first bytes of what a URL leads to, at most `bytes`, and whether these are all; nil where they
    /// cannot be had within `seconds`.
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
            "origin.timeout",
            "\(Redaction.shown(url)): the list was not complete after "
                + "\(HumanFormat.fixed(seconds, places: 0)) s")
    }

    /// One request to its end; nil where that has not come in time.
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

/// Writes a body behind what lies in a temporary file already.
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

/// Takes the start of a body, and ends the transfer then.
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
        if isFull { throw Failure("worker.cancelled", "no more of it is needed") }
    }
}
