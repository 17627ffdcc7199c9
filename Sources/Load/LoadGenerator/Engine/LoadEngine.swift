internal import Curl
internal import EventLoop
package import LoadModel
package import Model
import Synchronization

/// Sends the load of one share of a test and measures it.
///
/// A loop a thread, each with its part of the arrivals and connections of its own; every second's counts
/// and histograms of all loops are added and handed out. Used once. Safe to use from any thread.
package final class LoadEngine: Sendable {
    package struct Options: Sendable {
        /// Threads, 1 or more.
        package var threads = 1
        package var userAgent = "dray/\(drayVersion)"
        package var addresses = LoadAddresses()
        /// How much is received at a time, 1 KiB to 512 KiB a request; less where all that a loop may have under
        /// way would be more than 16 MiB, but 32 KiB in any case.
        package var bufferBytes = 128 << 10
        /// Viewers of the open model that play at a time at most, 1 or more; one that is due beyond them does not
        /// start.
        package var mostViewers = 100_000
        /// Most connections that viewers have open, idle ones included, 1 or more.
        package var viewerConnections = 10_000
        /// Requests that may be under way at a time, as far as files may be open, 1 or more.
        package var mostRequests = Int.max
        package var lookup: any HostLookup = SystemHostLookup()
        /// Has libcurl carry all requests, those as well that are carried without it, to compare both.
        package var usesLibcurlAlone = false

        package init() {}
    }

    private let plan: LoadPlan
    private let loops: [LoadLoop]
    private let collector: Collector
    private let budget: LoadBudget

    /// Fails with `input.field` where the share may have more requests under way than `options.mostRequests`.
    package init(
        plan: LoadPlan, scenario: LoadScenario, share: LoadShare = .whole, options: Options
    ) throws(Failure) {
        self.plan = plan
        let collector = Collector()
        self.collector = collector
        let budget = LoadBudget(scenario.caps, share)
        self.budget = budget
        let requests = scenario.mostRequests(of: share)
        guard requests <= options.mostRequests else {
            throw Failure(
                "input.field",
                "field http.concurrency: given \(requests), allowed up to \(options.mostRequests) here, as "
                    + "far as files may be open; see ulimit -n")
        }
        // No thread without a request: its core would stand idle.
        let threads = max(1, min(options.threads, requests))
        let routes = options.usesLibcurlAlone ? HTTP1Routes() : HTTP1Routes(plan, scenario.http)
        var loops: [LoadLoop] = []
        for index in 0..<threads {
            loops.append(
                try LoadLoop(
                    plan: plan, scenario: scenario, share: share.part(index, of: threads),
                    of: LoadShare(index: index, count: threads), options: options, budget: budget,
                    routes: routes,
                    onInterval: { collector.add($0) }, onEnd: { collector.end($0) }))
        }
        self.loops = loops
        let all = loops
        budget.whenSpent { for loop in all { loop.cap() } }
        // What the others would send would be another load.
        collector.expect(threads) { for loop in all { loop.stop(.interrupted) } }
    }

    deinit { close() }

    private func close() {
        // Both know the loops, which know them.
        budget.whenSpent(nil)
        collector.forget()
        for loop in loops { loop.loop.shutdown() }
    }

    /// Runs to the end, or until `stop`.
    ///
    /// - Parameters:
    ///   - startNanoseconds: of the test, on the monotonic clock; in the past for at once.
    ///   - onInterval: gets the sum of each second, in order, soon after its end; on a loop's thread: it must
    ///     not wait.
    ///
    /// Fails with `worker.internal` when a loop cannot go on, which ends the others; what was measured until then
    /// has been handed out.
    package func run(
        startNanoseconds: UInt64,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws(Failure) -> Outcome {
        let clock = LoadClock(startNanoseconds: startNanoseconds)
        let ends = await withCheckedContinuation { continuation in
            collector.begin(onInterval, continuation)
            for loop in loops { loop.start(clock) }
        }
        close()
        if let failure = ends.lazy.compactMap(\.failure).first { throw failure }
        let ending = ends.map(\.ending).first { $0 != .finished } ?? .finished
        return Outcome(
            ending: ending, breakdown: breakdown(ends),
            elapsedSeconds: ends.map(\.seconds).max() ?? 0)
    }

    /// Ends the test at once, or the wait for its last requests; what is under way is counted as unfinished.
    package func stop(_ ending: LoadResult.Ending) { for loop in loops { loop.stop(ending) } }

    /// How a share ended.
    package struct Outcome: Sendable {
        package var ending: LoadResult.Ending
        package var breakdown: LoadBreakdown
        /// From the start until the last request ended, 0 or more.
        package var elapsedSeconds: Double
    }

    /// Threads that send.
    package var threads: Int { loops.count }

    /// By name, what took most time first: of more than `LoadBreakdown.most` the rest is one.
    private func breakdown(_ ends: [LoadLoopEnd]) -> LoadBreakdown {
        var tallies: [Int32: LoadTally] = [:]
        for end in ends {
            for (object, tally) in end.tallies { tallies[object, default: LoadTally()].add(tally) }
        }
        var breakdown = LoadBreakdown()
        let largestFirst = tallies.sorted {
            ($0.value.totalMicroseconds, $1.key) > ($1.value.totalMicroseconds, $0.key)
        }
        for (place, tally) in largestFirst {
            let object = plan.objects[Int(place)]
            // What a share measured is stored, and served to whoever may ask.
            breakdown.add(
                tally, url: redacted(url: object.url),
                target: redacted(url: plan.targets[Int(object.target)].name),
                rendition: object.rendition < 0 ? nil : plan.renditions[Int(object.rendition)])
        }
        return breakdown
    }

    static func profile(_ http: LoadHTTP, userAgent: String) -> CurlProfile {
        var settings = CurlProfile.Settings(userAgent: userAgent)
        settings.caFile = http.caFile
        settings.usesConnectionsOnce = !http.keepsAlive
        switch http.version {
        case .automatic: settings.http = .automatic
        case .http1: settings.http = .http1
        case .http2: settings.http = .http2PriorKnowledge
        }
        return CurlProfile(settings)
    }
}

/// Adds the intervals of all loops, second by second.
private final class Collector: Sendable {
    private struct State {
        var loops = 0
        var open: [Int: (sum: LoadInterval, loops: Int)] = [:]
        var next = 0
        var ends: [LoadLoopEnd] = []
        var onInterval: (@Sendable (LoadInterval) -> Void)?
        var onFailure: (@Sendable () -> Void)?
        var continuation: CheckedContinuation<[LoadLoopEnd], Never>?
    }

    private let state = Mutex(State())

    /// - Parameter onFailure: called, on the loop's thread, when one cannot go on.
    func expect(_ loops: Int, onFailure: @escaping @Sendable () -> Void) {
        state.withLock {
            $0.loops = loops
            $0.onFailure = onFailure
        }
    }

    func forget() {
        state.withLock {
            $0.onFailure = nil
            $0.onInterval = nil
        }
    }

    func begin(
        _ onInterval: @escaping @Sendable (LoadInterval) -> Void,
        _ continuation: CheckedContinuation<[LoadLoopEnd], Never>
    ) {
        state.withLock {
            $0.onInterval = onInterval
            $0.continuation = continuation
        }
        finishIfEnded()
    }

    func add(_ interval: LoadInterval) {
        state.withLock { state in
            if state.open[interval.second] == nil {
                state.open[interval.second] = (interval, 1)
            } else {
                state.open[interval.second]?.sum.add(interval)
                state.open[interval.second]?.loops += 1
            }
            Self.handOut(&state)
        }
    }

    func end(_ end: LoadLoopEnd) {
        state.withLock { state in
            state.ends.append(end)
            Self.handOut(&state)
        }
        if end.failure != nil { state.withLock { $0.onFailure }?() }
        finishIfEnded()
    }

    /// Hands out the seconds that no loop has anything more of. Under the lock, so that they stay in order.
    private static func handOut(_ state: inout State) {
        while let (sum, loops) = state.open[state.next] {
            let gone = state.ends.count { $0.lastSecond < state.next }
            guard loops + gone >= state.loops else { return }
            state.open[state.next] = nil
            state.next += 1
            state.onInterval?(sum)
        }
    }

    private func finishIfEnded() {
        let done = state.withLock {
            state -> (CheckedContinuation<[LoadLoopEnd], Never>, [LoadLoopEnd])? in
            guard state.ends.count >= state.loops, let waiting = state.continuation else {
                return nil
            }
            state.continuation = nil
            return (waiting, state.ends)
        }
        if let done { done.0.resume(returning: done.1) }
    }
}
