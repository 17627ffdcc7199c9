internal import Curl
internal import Digest
internal import EventLoop
internal import Glibc
package import Model
import Synchronization

/// Runs transfers on event loops, one thread each.
///
/// Safe to use from any thread. Completions run on a loop's thread and must not block; they pass
/// the result on. Transfers above the connection limit wait in order. `shutdown` must be called
/// before an engine is released.
package final class TransferEngine: Sendable {
    package struct Options: Sendable {
        /// Number of threads; by default one per usable CPU, but never more than connections.
        package var loops = UsableCPUs.count
        /// Maximum of simultaneous transfers, and so of connections, over all loops.
        package var connections = 32
        /// Maximum of these to one host and port; 0 for no separate limit.
        package var hostConnections = 0
        package var addressPolicy = AddressPolicy()
        /// Settings by origin.
        package var origins = OriginSettingsTable()
        /// Size of libcurl's receive buffer, 1 KiB to 512 KiB per connection. It is lower where all
        /// buffers together would exceed 16 MiB, but at least 16 KiB.
        package var bufferBytes: Int {
            get { min(maxBufferBytes, max(16 << 10, (16 << 20) / max(connections, 1))) }
            set { maxBufferBytes = newValue }
        }
        private var maxBufferBytes = 128 << 10
        /// PEM file of certificate authorities that replaces the system's.
        package var caFile: String?
        /// Maps a host and port to a literal address, in place of name resolution; nil to resolve
        /// the name. Called for each request.
        package var resolve: (@Sendable (_ host: String, _ port: Int) -> String?)?
        /// Length from which another thread than a loop's opens a body's destination; it also opens
        /// those of unknown length.
        package var backgroundOpenBytes: Int64 = 1 << 20
        /// Number of short bodies that are hashed at a time, 8 or 16; nil for one at a time.
        package var digestBatch = ShortMessages.worthwhileCount
        /// Interval of checks for timeouts.
        package var tickSeconds = 0.5
        /// Rules against slow transfers; nil to let them take all connections.
        package var slow: SlowPolicy?
        /// Receives every event of every transfer.
        package var observer: Transfer.Observer?

        package init() {}
    }

    private let loops: [TransferLoop]
    private let scheduler: OriginScheduler
    private let nextID = Atomic<UInt64>(1)
    private let observer: Transfer.Observer?
    private let siteMeters = Mutex<[SiteID: ByteMeter]>([:])

    package init(options: Options = Options()) throws(Failure) {
        do {
            try CurlGlobal.initialize()
        } catch {
            throw Failure(.workerInternal, error.description)
        }
        observer = options.observer
        let count = max(min(options.loops, options.connections), 1)
        scheduler = OriginScheduler(
            loops: count, connections: options.connections, slow: options.slow)
        let profiles = OriginProfiles(options.origins, caFile: options.caFile)
        var loops: [TransferLoop] = []
        for index in 0..<count {
            do {
                loops.append(
                    TransferLoop(
                        loop: try EventLoop(name: "transfer-\(index)"), index: index,
                        capacity: OriginScheduler.capacity(
                            of: index, loops: count, connections: options.connections),
                        scheduler: scheduler, profiles: profiles, options: options))
            } catch {
                for loop in loops { loop.shutdown() }
                throw Failure(.workerInternal, "cannot create an event loop: \(error)")
            }
        }
        self.loops = loops
        for loop in loops { loop.start { [weak self] in self?.execute($0) } }
    }

    /// Queues a transfer. `completion` is called exactly once, on a loop's thread. After `close` and
    /// `shutdown` it is called at once, on the caller's thread, with `worker.cancelled`.
    @discardableResult
    package func submit(
        _ request: TransferRequest,
        completion: @escaping @Sendable (Transfer, TransferResult) -> Void
    ) -> Transfer {
        submit([request], completion: completion)[0]
    }

    /// Queues transfers, cheaper than one by one.
    @discardableResult
    package func submit(
        _ requests: [TransferRequest],
        completion: @escaping @Sendable (Transfer, TransferResult) -> Void
    ) -> [Transfer] {
        let transfers = requests.map { request in
            Transfer(
                id: nextID.wrappingAdd(1, ordering: .relaxed).oldValue, request: request,
                siteMeter: request.owner.site.map(meter), observer: observer,
                completion: completion)
        }
        guard scheduler.submit(transfers, now: MonotonicClock.nowSeconds) else {
            for transfer in transfers { transfer.cancelUnstarted() }
            return transfers
        }
        for loop in loops { loop.wakeIfFree() }
        return transfers
    }

    /// Number of transfers that wait for a slot or for their origin.
    package var waitingCount: Int { scheduler.waitingCount }

    // MARK: Origins

    /// Sets the limits of an origin, named by `originName(of:)`, for the given seconds. Afterwards
    /// it has no transfer and no connection until limits are set again. Limits without any bound
    /// remove all.
    package func setLimits(_ limits: OriginAllowance, of origin: String, forSeconds seconds: Double)
    {
        let now = MonotonicClock.nowSeconds
        execute(scheduler.setLimits(limits, of: origin, until: now + seconds, now: now))
    }

    /// Removes the limits of those of the origins that have some.
    package func liftLimits(of origins: Set<String>) {
        execute(scheduler.liftLimits(of: origins, now: MonotonicClock.nowSeconds))
    }

    /// Use of all numbered quotas.
    package var originUses: [OriginUse] { scheduler.uses(now: MonotonicClock.nowSeconds) }

    /// Stops using a quota of an idle origin; returns false if the origin has work or a newer
    /// quota.
    package func giveUp(_ origin: String, number: Int64) -> Bool {
        scheduler.giveUp(origin, number: number)
    }

    /// True if any origin has limits, or had some and has no quota now.
    package var isAnyLimited: Bool { scheduler.isAnyLimited }

    /// Puts origins into cooldown for the given seconds. Transfers that wait for less than five
    /// seconds continue then; others that have not started end with `worker.cancelled`. A
    /// response's Retry-After has the same effect.
    package func beginCooldowns(_ origins: [(origin: String, seconds: Double)]) {
        guard !origins.isEmpty else { return }
        execute(scheduler.beginCooldowns(origins, now: MonotonicClock.nowSeconds))
    }

    /// Ends cooldowns that `beginCooldowns` started earlier than `secondsAgo`.
    package func endCooldowns(_ origins: Set<String>, reportedUntil secondsAgo: Double) {
        let now = MonotonicClock.nowSeconds
        execute(scheduler.endCooldowns(origins, reportedUntil: now - secondsAgo, now: now))
    }

    /// The origins that are in cooldown now.
    package var originsInCooldown: Set<String> {
        scheduler.originsInCooldown(now: MonotonicClock.nowSeconds)
    }

    /// True if any origin is in cooldown.
    package var isAnyInCooldown: Bool { scheduler.isAnyInCooldown }

    /// Activity at the origins that recently had work.
    package var origins: [OriginActivity] { scheduler.statuses(now: MonotonicClock.nowSeconds) }

    /// Number of transfers that wait for the limits of their origins, not for a slot.
    package var heldBackCount: Int {
        scheduler.heldBackCount(now: MonotonicClock.nowSeconds)
    }

    /// Number of further transfers that could start now, as far as that is known: more of the
    /// origins in use; without any, of a first one.
    package var spareCount: Int { scheduler.spareCount(now: MonotonicClock.nowSeconds) }

    /// Number of slots without a transfer.
    package var freeSlotCount: Int { scheduler.freeSlotCount }

    /// Transfers that never started and wait for nothing but a slot, in no order.
    package var unbegun: [Transfer] { scheduler.unbegun(now: MonotonicClock.nowSeconds) }

    /// Returns the work in slots that are not for prompt origins, running and waiting, with at most
    /// `most` of its origins.
    package func slowWork(most: Int) -> SlowWork {
        scheduler.slowWork(most: most, now: MonotonicClock.nowSeconds)
    }

    // MARK: Sites

    /// Sets the byte rate of a site, over all origins, for the given seconds. Afterwards the site
    /// receives nothing until a rate is set again. Nil removes the limit.
    package func setRate(_ bytesPerSecond: Int64?, of site: SiteID, forSeconds seconds: Double) {
        let now = MonotonicClock.nowSeconds
        meter(of: site).set(bytesPerSecond.map { max($0, 0) }, until: now + seconds, now: now)
        // Waiting transfers may now continue sooner.
        for loop in loops { loop.execute { loop.meterTick() } }
    }

    private func meter(of site: SiteID) -> ByteMeter {
        siteMeters.withLock { meters in
            if let meter = meters[site] { return meter }
            let made = ByteMeter()
            meters[site] = made
            return made
        }
    }

    private func execute(_ effects: OriginScheduler.Effects) {
        for index in effects.wake { loops[index].wakeIfFree() }
        for index in effects.settle { loops[index].settleSoon() }
        if let time = effects.tickAt { loops[0].tickLimits(at: time) }
        let (returned, refused, postponed) = (effects.returned, effects.refused, effects.postponed)
        guard !returned.isEmpty || !refused.isEmpty || !postponed.isEmpty else { return }
        loops[0].execute {
            for transfer in returned { transfer.cancelUnstarted(.noShare) }
            for transfer in refused { transfer.cancelUnstarted(.noShareBehindRedirect) }
            for (transfer, origin, seconds) in postponed {
                transfer.cancelUnstarted(
                    .cooldownBehindRedirect, at: origin, retryAfterSeconds: seconds)
            }
        }
    }

    // MARK: Ending

    /// Ends one transfer with `worker.cancelled`, unless it ends by itself first.
    package func cancel(_ transfer: Transfer) {
        cancel { $0 === transfer }
    }

    /// Ends those of some transfers that have not started with `worker.cancelled`. The others
    /// continue, including those that start at the same time.
    package func cancelUnbegun(_ transfers: [Transfer]) {
        let removed = scheduler.removeUnstarted(Set(transfers.map(\.id)))
        loops[0].execute { for transfer in removed { transfer.cancelUnstarted() } }
    }

    /// Ends every transfer of a group.
    package func cancelAll(group: String) {
        cancel { $0.request.owner.group == group }
    }

    /// Ends every transfer of some jobs of a group.
    package func cancelAll(group: String, jobs: Set<JobID>) {
        cancel { transfer in
            transfer.request.owner.group == group
                && transfer.request.owner.job.map(jobs.contains) == true
        }
    }

    private func cancel(where matches: @escaping @Sendable (Transfer) -> Bool) {
        let removed = scheduler.remove(
            below: nextID.load(ordering: .relaxed), now: MonotonicClock.nowSeconds, where: matches)
        loops[0].execute { for transfer in removed { transfer.cancelUnstarted() } }
        for loop in loops { loop.cancel(where: matches) }
    }

    /// Ends every transfer with `worker.cancelled`, and at once each that is submitted later. Unlike `shutdown` it does
    /// not wait for them.
    package func close() {
        let waiting = scheduler.close()
        loops[0].execute { for transfer in waiting { transfer.cancelUnstarted() } }
        for loop in loops { loop.cancel { _ in true } }
    }

    /// Ends every transfer with `worker.cancelled` and joins the threads. Must not be called on a
    /// loop.
    package func shutdown() {
        for transfer in scheduler.close() { transfer.cancelUnstarted() }
        for loop in loops { loop.shutdown() }
    }
}

extension Transfer {
    /// Ends a transfer that no loop has.
    func cancelUnstarted(
        _ failure: Failure = .cancelled, at origin: String? = nil,
        retryAfterSeconds: Double? = nil
    ) {
        handle(.fail)
        var result = TransferResult(.failure(failure))
        result.origin = origin
        result.retryAfterSeconds = retryAfterSeconds
        result.left = partial
        completion(self, result)
    }
}

extension Failure {
    static let cancelled = Failure(.workerCancelled, "the transfer was cancelled")
    /// The work belongs to another engine now, or to none for a while.
    static let noShare = Failure(
        .workerCancelled, "no quota of the origin's limits is left")
    /// Returned, it would be redirected there again.
    static let noShareBehindRedirect = Failure(
        .originLimited, "a redirect led to an origin without a quota")
    static let cooldownBehindRedirect = Failure(
        .originLimited, "a redirect led to an origin in cooldown")
}
