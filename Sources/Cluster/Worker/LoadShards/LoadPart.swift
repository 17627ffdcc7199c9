import EventLoop
import FoundationEssentials
import LoadModel
import Model
import Synchronization
import Text

/// A worker's part in a load test: how far it is, what of it was not reported yet, what ends it.
///
/// Safe from any thread. The task that plays it, the one that reports it and the one that watches over
/// both meet here.
final class LoadPart: Sendable {
    /// Which part, and when it begins, on CLOCK_MONOTONIC.
    struct Start: Sendable {
        var share: LoadShare
        var nanoseconds: UInt64
    }

    private struct State {
        var progress = LoadTestReport.Progress.preparing
        var cores: Int?
        var pending: [LoadTestReport.Interval] = []
        var breakdown: String?
        var failure: Failure?
        var start: Start?
        /// It is to stop, or need not begin.
        var isOver = false
        /// Nothing is left to be told.
        var isReported = false
        var heardAt = MonotonicClock.nowNanoseconds
        var waiter: CheckedContinuation<Start?, Never>?
        var stoppers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    var isOver: Bool { state.withLock { $0.isOver } }
    var isReported: Bool { state.withLock { $0.isReported } }
    var hasStart: Bool { state.withLock { $0.start != nil } }

    /// Since a coordinator answered.
    var silentSeconds: Double {
        let heardAt = state.withLock { $0.heardAt }
        return Double(MonotonicClock.nowNanoseconds &- heardAt) / 1e9
    }

    // MARK: Playing it

    func becomeReady(cores: Int) {
        state.withLock { state in
            state.cores = min(max(cores, 1), 10_000)
            if state.progress == .preparing { state.progress = .ready }
        }
    }

    /// Returns at the time when the start is known; nil when there will be none.
    func waitForStart() async -> Start? {
        await withCheckedContinuation { continuation in
            let (isKnown, start) = state.withLock { state in
                guard state.start == nil, !state.isOver else { return (true, state.start) }
                state.waiter = continuation
                return (false, nil)
            }
            if isKnown { continuation.resume(returning: start) }
        }
    }

    /// Has `stop` called when the part is to stop; at once if that is so already.
    func onStop(_ stop: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            state.stoppers.append(stop)
            return state.isOver
        }
        if isOver { stop() }
    }

    /// Takes a second that is whole, to be reported.
    func add(_ interval: LoadInterval) {
        do {
            let data = String(decoding: try JSONEncoder().encode(interval), as: UTF8.self)
            guard data.utf8.count <= WireLimits.intervalBytes else {
                return fail(
                    Failure("worker.internal", "A second has \(data.utf8.count) bytes of figures."))
            }
            state.withLock {
                $0.pending.append(
                    LoadTestReport.Interval(second: interval.second, data: data))
            }
        } catch {
            fail(Failure("worker.internal", "A second could not be written: \(error)"))
        }
    }

    /// All of it was sent, or as much as there was time for.
    func finish(_ end: LoadShareEnd) {
        let text = end.text(atMost: WireLimits.breakdownBytes)
        state.withLock { state in
            state.breakdown = text
            state.progress = state.failure == nil ? .finished : .failed
        }
    }

    /// It cannot go on; the first reason counts.
    func fail(_ failure: Failure) {
        state.withLock { state in
            if state.failure == nil {
                let message = String(
                    printable(failure.message).prefix(WireLimits.reasonCharacters / 4))
                state.failure = Failure(failure.code, message)
            }
            state.progress = .failed
        }
        stop()
    }

    // MARK: Ending it

    /// The load stops now; what was measured is still reported.
    func stop() {
        let (waiter, stoppers) = state.withLock { state in
            state.isOver = true
            defer {
                state.waiter = nil
                state.stoppers = []
            }
            return (state.waiter, state.stoppers)
        }
        waiter?.resume(returning: nil)
        for stopper in stoppers { stopper() }
    }

    /// As `stop`, for a reason that the share's end will have.
    func stop(_ failure: Failure) {
        state.withLock { state in
            guard !state.isOver else { return }
            state.failure = state.failure ?? failure
            // One that has not begun has nothing more to say.
            if state.start == nil { state.progress = .failed }
        }
        stop()
    }

    /// Nobody wants to hear of it any more.
    func leave() {
        state.withLock { $0.isReported = true }
        stop()
    }

    // MARK: Reporting it

    /// At most so many bytes of seconds go together.
    private static let reportBytes = 4 << 20

    /// What is to be told now.
    func report(of worker: WorkerID) -> LoadTestReport {
        state.withLock { state in
            var report = LoadTestReport(worker: worker, progress: state.progress)
            var bytes = 0
            for interval in state.pending.prefix(WireLimits.intervalsPerReport) {
                bytes += interval.data.utf8.count
                guard bytes <= Self.reportBytes || report.intervals.isEmpty else { break }
                report.intervals.append(interval)
            }
            report.cores = state.cores
            if report.intervals.count < state.pending.count {
                // The end comes last.
                if state.progress != .preparing { report.progress = .ready }
                return report
            }
            guard [.finished, .failed].contains(state.progress) else { return report }
            report.breakdown = state.breakdown
            if state.progress == .failed { report.failure = state.failure }
            return report
        }
    }

    /// A coordinator has what a report says.
    func acknowledge(_ report: LoadTestReport) {
        state.withLock { state in
            state.heardAt = MonotonicClock.nowNanoseconds
            state.pending.removeFirst(report.intervals.count)
            if [.finished, .failed].contains(report.progress) { state.isReported = true }
        }
    }

    /// A coordinator has answered.
    func begin(_ start: Start) {
        let waiter = state.withLock { state in
            state.start = start
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: start)
    }
}

extension LoadShareEnd {
    /// As JSON of so many bytes at most: URLs of which least was asked are put together as far as need be.
    func text(atMost most: Int) -> String? {
        var end = self
        while true {
            guard let data = try? JSONEncoder().encode(end) else { return nil }
            if data.count <= most { return String(decoding: data, as: UTF8.self) }
            guard end.breakdown.urls.count > 1 else { return nil }
            end.breakdown.keepUsualURLs(end.breakdown.urls.count / 2)
        }
    }
}

extension LoadBreakdown {
    /// Keeps `most` URLs by name, those that were asked for most.
    fileprivate mutating func keepUsualURLs(_ most: Int) {
        var others = urls.removeValue(forKey: Self.others) ?? LoadTally()
        let usualFirst = urls.sorted { ($0.value.requests, $1.key) > ($1.value.requests, $0.key) }
        for (name, tally) in usualFirst.dropFirst(max(most - 1, 0)) {
            urls[name] = nil
            others.add(tally)
        }
        urls[Self.others] = others
    }
}
