internal import Curl
internal import EventLoop
package import LoadModel
package import Model
import Synchronization
package import Transfer

/// Sends the load of one shard of a test and measures it.
///
/// Runs one loop per thread, each with its part of the arrivals and its own connections. The counts
/// and histograms of all loops are merged second by second. Used once. Safe to use from any thread.
package final class LoadEngine: Sendable {
    package struct Options: Sendable {
        /// Threads, 1 or more.
        package var threads = 1
        package var userAgent = "dray/\(drayVersion)"
        package var addresses = LoadAddresses()
        /// Receive buffer of a request, 1 KiB to 512 KiB. It shrinks, down to 32 KiB, where all
        /// buffers of a loop would exceed 16 MiB.
        package var bufferBytes = 128 << 10
        /// Maximum number of concurrent viewers of the open model, 1 or more. A viewer beyond it
        /// does not start.
        package var maxViewers = 100_000
        /// Maximum number of open viewer connections, idle ones included, 1 or more.
        package var viewerConnections = 10_000
        /// Maximum number of concurrent requests that the limit of open files allows, 1 or more.
        package var maxRequests = Int.max
        package var lookup: any HostLookup = SystemHostLookup()
        /// Sends all requests through libcurl, to compare it with the HTTP/1.1 client.
        package var usesLibcurlAlone = false

        package init() {}
    }

    private let plan: LoadPlan
    private let loops: [LoadLoop]
    private let collector: Collector
    private let budget: LoadBudget
    /// Nil before the start.
    private let clock = Mutex<LoadClock?>(nil)

    /// Throws `input.field` if the shard may have more concurrent requests than
    /// `options.maxRequests`.
    package init(
        plan: LoadPlan, scenario: LoadScenario, shard: LoadShard = .whole, options: Options
    ) throws(Failure) {
        self.plan = plan
        let collector = Collector()
        self.collector = collector
        let budget = LoadBudget(scenario.caps, shard)
        self.budget = budget
        let requests = scenario.maxRequests(of: shard)
        guard requests <= options.maxRequests else {
            throw Failure(
                .inputField, at: .field("http.concurrency"),
                "given \(requests)",
                allowed:
                    "up to \(options.maxRequests) here, as far as the limit of open files allows; "
                    + "see ulimit -n")
        }
        // A thread without requests would leave its core idle.
        let threads = max(1, min(options.threads, requests))
        let routes = options.usesLibcurlAlone ? HTTP1Routes() : HTTP1Routes(plan, scenario.http)
        var loops: [LoadLoop] = []
        for index in 0..<threads {
            loops.append(
                try LoadLoop(
                    plan: plan, scenario: scenario, shard: shard.part(index, of: threads),
                    of: LoadShard(index: index, count: threads), options: options, budget: budget,
                    routes: routes,
                    onInterval: { collector.add($0) }, onEnd: { collector.end($0) }))
        }
        self.loops = loops
        let all = loops
        budget.whenSpent { for loop in all { loop.cap() } }
        // If one loop fails, the load of the others would differ from the plan.
        collector.expect(threads) { for loop in all { loop.stop(.interrupted) } }
    }

    deinit { close() }

    private func close() {
        // Both refer to the loops, which refer to them: break the cycle.
        budget.whenSpent(nil)
        collector.forget()
        for loop in loops { loop.loop.shutdown() }
    }

    /// Runs until the end or until `stop`.
    ///
    /// - Parameters:
    ///   - startNanoseconds: start of the test on the monotonic clock; a past time starts at once.
    ///   - onInterval: receives the merged interval of each second, in order, soon after its end.
    ///     It is called on a loop's thread and must not block.
    ///
    /// Throws `worker.internal` if a loop fails, which stops the others. The intervals until then
    /// have been delivered.
    package func run(
        startNanoseconds: UInt64,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws(Failure) -> Outcome {
        let clock = LoadClock(startNanoseconds: startNanoseconds)
        self.clock.withLock { $0 = clock }
        let ends = await withCheckedContinuation { continuation in
            collector.begin(onInterval, continuation)
            for loop in loops { loop.start(clock) }
        }
        close()
        if let failure = ends.lazy.compactMap(\.failure).first { throw failure }
        let ending = ends.map(\.ending).first { $0 != .finished } ?? .finished
        return Outcome(
            ending: ending, breakdown: breakdown(ends),
            loadSeconds: ends.map(\.loadSeconds).max() ?? 0,
            elapsedSeconds: ends.map(\.seconds).max() ?? 0)
    }

    /// Stops the test, or the wait for its last requests, at once. Requests in flight count as
    /// unfinished.
    package func stop(_ ending: LoadResult.Ending) { for loop in loops { loop.stop(ending) } }

    /// Changes the load of a running test, from a moment ahead to its planned end: arrivals per
    /// second, or users.
    ///
    /// Returns the change; nil before the start.
    package func change(to level: Double) -> LoadChange? {
        guard let clock = clock.withLock({ $0 }) else { return nil }
        let change = LoadChange(
            seconds: max(clock.seconds, 0) + Self.changeSeconds, level: level)
        self.change(change)
        return change
    }

    /// Changes the load from a time of the whole test on, also before the start. If that time has
    /// passed, the arrivals that are due since then follow at once.
    package func change(_ change: LoadChange) {
        // All loops change at the same time of their plans.
        for loop in loops { loop.change(change) }
    }

    private static let changeSeconds = 0.02

    /// The outcome of a shard.
    package struct Outcome: Sendable {
        package var ending: LoadResult.Ending
        package var breakdown: LoadBreakdown
        /// Seconds from the start until which requests were sent, 0 or more: all rates refer to
        /// them.
        package var loadSeconds: Double
        /// Seconds from the start until the end of the last request, 0 or more.
        package var elapsedSeconds: Double
    }

    /// Number of sending threads.
    package var threads: Int { loops.count }

    /// Totals by name, longest time first. Entries beyond `LoadBreakdown.most` are merged into one.
    private func breakdown(_ ends: [LoadLoopEnd]) -> LoadBreakdown {
        var tallies: [Int32: LoadTally] = [:]
        for end in ends {
            for (object, tally) in end.tallies { tallies[object, default: LoadTally()].add(tally) }
        }
        var breakdown = LoadBreakdown()
        let largestFirst = tallies.sorted {
            ($0.value.totalMicroseconds, $1.key) > ($1.value.totalMicroseconds, $0.key)
        }
        for (index, tally) in largestFirst {
            let object = plan.objects[Int(index)]
            // Results of a shard are stored and served to clients, so URLs are redacted.
            breakdown.add(
                tally, url: plan.labels[index] ?? redacted(url: object.url),
                target: redacted(url: plan.targets[Int(object.target)].name),
                rendition: object.rendition < 0 ? nil : plan.renditions[Int(object.rendition)])
        }
        for end in ends {
            for (key, group) in end.groups.named(plan, { redacted(url: plan.targets[$0].name) }) {
                breakdown.add(group, key)
            }
        }
        guard case .viewers(let settings) = loops.first?.scenario.user else { return breakdown }
        for (index, type) in settings.classes.enumerated() {
            for end in ends { breakdown.add(end.classes[index], ofClass: type.name(at: index)) }
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

/// Merges the intervals of all loops, second by second.
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

    /// Sets the number of loops.
    ///
    /// - Parameter onFailure: called on the loop's thread when one fails.
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

    /// Delivers the seconds that every loop has completed. Called under the lock, so that they stay
    /// in order.
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
