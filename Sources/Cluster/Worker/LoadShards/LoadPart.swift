import API
import FoundationEssentials
import LoadModel
import Model
import Synchronization
import Text

/// The state of a worker's shard in a load test: progress, unreported results and the end.
///
/// Safe from any thread. The tasks that run, report and watch the shard share it.
final class LoadPart: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The shard, and its start on CLOCK_MONOTONIC.
    struct Start: Sendable {
        var shard: LoadShard
        var nanoseconds: UInt64
    }

    private struct State {
        var progress = LoadTestReport.Progress.preparing
        var cores: Int?
        var pending: [LoadTestReport.Interval] = []
        var breakdown: String?
        var failure: Failure?
        var start: Start?
        /// Number of received changes of the load.
        var changes = 0
        /// Makes them; nil before the shard is ready.
        var changer: (@Sendable (LoadChange) -> Void)?
        /// True if the load must stop or need not start.
        var isOver = false
        /// True if nothing is left to report.
        var isReported = false
        var contactedAt = Instant.now
        var waiter: CheckedContinuation<Start?, Never>?
        var stoppers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    var isOver: Bool { state.withLock { $0.isOver } }
    var isReported: Bool { state.withLock { $0.isReported } }
    var hasStart: Bool { state.withLock { $0.start != nil } }

    /// Seconds since a coordinator answered.
    var silentSeconds: Double {
        state.withLock { $0.contactedAt.duration(to: .now) / .seconds(1) }
    }

    /// Waits until no coordinator has answered for `duration`; returns false if the task is cancelled
    /// before.
    func waitForSilence<C: Clock>(
        of duration: Duration, clock: C = ContinuousClock()
    ) async -> Bool where C.Instant == Instant, C.Duration == Duration {
        while !Task.isCancelled {
            // Each answer makes it later.
            let end = state.withLock { $0.contactedAt } + duration
            if clock.now >= end { return true }
            try? await clock.sleep(until: end, tolerance: nil)
        }
        return false
    }

    // MARK: Playing it

    /// - Parameter change: changes the load, from then on.
    func becomeReady(cores: Int, change: @escaping @Sendable (LoadChange) -> Void) {
        state.withLock { state in
            state.changer = change
            state.cores = min(max(cores, 1), 10_000)
            if state.progress == .preparing { state.progress = .ready }
        }
    }

    /// Waits until the start is known; returns nil if there will be none.
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

    /// Calls `stop` when the shard must stop; at once if it already must.
    func onStop(_ stop: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            state.stoppers.append(stop)
            return state.isOver
        }
        if isOver { stop() }
    }

    /// Adds the results of a complete second to the next report.
    func add(_ interval: LoadInterval) {
        do {
            let data = String(decoding: try JSONEncoder().encode(interval), as: UTF8.self)
            guard data.utf8.count <= WireLimits.intervalBytes else {
                return fail(
                    Failure(.workerInternal, "A second has \(data.utf8.count) bytes of results."))
            }
            state.withLock {
                $0.pending.append(
                    LoadTestReport.Interval(second: interval.second, data: data))
            }
        } catch {
            fail(Failure(.workerInternal, "cannot encode the results of a second: \(error)"))
        }
    }

    /// Records the end of the load: by the scenario or a stop.
    func finish(_ end: LoadShardEnd) {
        let text = end.text(atMost: WireLimits.breakdownBytes)
        state.withLock { state in
            state.breakdown = text
            state.progress = state.failure == nil ? .finished : .failed
        }
    }

    /// Records a failure and stops; the first failure counts.
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

    /// Stops the load now; results so far are still reported.
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

    /// Stops like `stop()`, with a failure as the reason.
    func stop(_ failure: Failure) {
        state.withLock { state in
            guard !state.isOver else { return }
            state.failure = state.failure ?? failure
            // A shard that has not started has nothing more to report.
            if state.start == nil { state.progress = .failed }
        }
        stop()
    }

    /// Ends all reporting, and stops.
    func leave() {
        state.withLock { $0.isReported = true }
        stop()
    }

    // MARK: Reporting it

    /// Maximum bytes of seconds' results in one report.
    private static let reportBytes = 4 << 20

    /// Returns the next report.
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
            report.changes = state.changes
            if report.intervals.count < state.pending.count {
                // The end is in the last report.
                if state.progress != .preparing { report.progress = .ready }
                return report
            }
            guard [.finished, .failed].contains(state.progress) else { return report }
            report.breakdown = state.breakdown
            if state.progress == .failed { report.failure = state.failure }
            return report
        }
    }

    /// Records that a coordinator received a report.
    func acknowledge(_ report: LoadTestReport, now: Instant = .now) {
        state.withLock { state in
            state.contactedAt = now
            state.pending.removeFirst(report.intervals.count)
            if [.finished, .failed].contains(report.progress) { state.isReported = true }
        }
    }

    /// Makes the changes of the load that a coordinator answered, each once and in order.
    func take(_ changes: [LoadTestChange]) {
        for change in changes {
            let changer = state.withLock { state -> (@Sendable (LoadChange) -> Void)? in
                guard change.revision == state.changes + 1, let changer = state.changer else {
                    return nil
                }
                state.changes += 1
                return changer
            }
            changer?(LoadChange(seconds: change.seconds, level: change.level))
        }
    }

    /// Sets the start that a coordinator answered.
    func begin(_ start: Start) {
        let waiter = state.withLock { state in
            state.start = start
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: start)
    }
}

extension LoadShardEnd {
    /// Encodes JSON of at most `most` bytes; merges the least requested URLs if necessary.
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
    /// Keeps `most` URLs by name, the most requested ones.
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
