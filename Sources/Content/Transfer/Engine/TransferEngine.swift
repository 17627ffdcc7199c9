internal import Curl
internal import Digest
internal import EventLoop
internal import Glibc
package import Model
import Synchronization

/// Runs transfers on event loops, one thread each.
///
/// Safe to use from any thread. Completions run on a loop's thread and must not block: they hand the
/// result on. What is above the connection limit waits, in order. `shutdown` must be called before an
/// engine is released.
package final class TransferEngine: Sendable {
    package struct Options: Sendable {
        /// Threads; by default one a core. No more run than there are connections.
        package var loops = max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
        /// Transfers, and so connections, at a time, over all loops.
        package var connections = 32
        /// Of these, to one host and port; 0 is no limit of its own.
        package var hostConnections = 0
        package var addressPolicy = AddressPolicy()
        /// How origins are asked.
        package var origins = OriginSettingsTable()
        /// libcurl's receive buffer, 1 KiB to 512 KiB a connection; less where all of them together
        /// would be more than 16 MiB, but 16 KiB in any case.
        package var bufferBytes: Int {
            get { min(mostBufferBytes, max(16 << 10, (16 << 20) / max(connections, 1))) }
            set { mostBufferBytes = newValue }
        }
        private var mostBufferBytes = 128 << 10
        /// A PEM file of certificate authorities in place of the system's.
        package var caFile: String?
        /// Where a host and port lead to, a literal address, in place of what its name resolves to;
        /// nil for that. Asked for each request.
        package var resolve: (@Sendable (_ host: String, _ port: Int) -> String?)?
        /// The place of a body of so many bytes or more, or of unknown length, is opened by another thread
        /// than a loop's.
        package var openAsideBytes: Int64 = 1 << 20
        /// Short bodies that are hashed at a time, 8 or 16; nil for one after the other.
        package var digestLanes = ShortMessages.worthwhileCount
        /// How often timeouts are looked at.
        package var tickSeconds = 0.5
        /// How slow transfers are kept from taking all connections; nil where they may.
        package var slow: SlowPolicy?
        /// Learns of every event of every transfer.
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
            throw Failure("worker.internal", error.description)
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
                throw Failure("worker.internal", "an event loop: \(error)")
            }
        }
        self.loops = loops
        for loop in loops { loop.start { [weak self] in self?.carryOut($0) } }
    }

    /// Queues a transfer. `completion` is called exactly once, on a loop's thread; after `shutdown`
    /// at once, on the caller's, with `worker.cancelled`.
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
                siteMeter: request.site.map(meter), observer: observer,
                completion: completion)
        }
        guard scheduler.submit(transfers, now: MonotonicClock.nowSeconds) else {
            for transfer in transfers { transfer.cancelUnstarted() }
            return transfers
        }
        for loop in loops { loop.wakeIfFree() }
        return transfers
    }

    /// Transfers that wait for a slot or for their origin.
    package var waitingCount: Int { scheduler.waitingCount }

    // MARK: Origins

    /// Sets what holds at an origin, named as `originName(of:)` does, for so many seconds. After
    /// that nothing of it is under way or open, until limits are set anew; limits without any bound
    /// lift all.
    package func setLimits(_ limits: OriginAllowance, of origin: String, forSeconds seconds: Double)
    {
        let now = MonotonicClock.nowSeconds
        carryOut(scheduler.setLimits(limits, of: origin, until: now + seconds, now: now))
    }

    /// Lifts the limits of origins that have some.
    package func liftLimits(of origins: Set<String>) {
        carryOut(scheduler.liftLimits(of: origins, now: MonotonicClock.nowSeconds))
    }

    /// What is used of the shares that have numbers.
    package var originUses: [OriginUse] { scheduler.uses(now: MonotonicClock.nowSeconds) }

    /// Begins nothing more under a share of an origin that there is nothing to do at; false when there is, or
    /// another share has come.
    package func giveUp(_ origin: String, number: Int64) -> Bool {
        scheduler.giveUp(origin, number: number)
    }

    /// Whether any origin has limits, or had some and has no share of them now.
    package var isAnyLimited: Bool { scheduler.isAnyLimited }

    /// Begins no request to origins until so many seconds have passed. What waits for less than five
    /// seconds goes on then; other transfers that have not begun end with `worker.cancelled`. An
    /// answer's Retry-After does the same by itself.
    package func cool(_ origins: [(origin: String, seconds: Double)]) {
        guard !origins.isEmpty else { return }
        carryOut(scheduler.cool(origins, now: MonotonicClock.nowSeconds))
    }

    /// Takes back what was said with `cool` up to `secondsAgo`.
    package func warm(_ origins: Set<String>, toldUntil secondsAgo: Double) {
        let now = MonotonicClock.nowSeconds
        carryOut(scheduler.warm(origins, toldUntil: now - secondsAgo, now: now))
    }

    /// The origins that are left alone now.
    package var coolingOrigins: Set<String> {
        scheduler.coolingOrigins(now: MonotonicClock.nowSeconds)
    }

    /// Whether any origin is left alone.
    package var isAnyCooling: Bool { scheduler.isAnyCooling }

    /// What is done at the origins that have had work of late.
    package var origins: [OriginActivity] { scheduler.statuses(now: MonotonicClock.nowSeconds) }

    /// Transfers that wait for the limits of their origins, and not for a slot.
    package var heldBackCount: Int { scheduler.heldBackCount }

    /// Work that waits, or is under way, in slots that are not for prompt origins, with at most `most` of its
    /// origins.
    package func slowWork(most: Int) -> SlowWork {
        scheduler.slowWork(most: most, now: MonotonicClock.nowSeconds)
    }

    // MARK: Sites

    /// Sets how many bytes a second may be received for a site for so many seconds, of all origins
    /// together; nothing after that, until a rate is set anew. Nil lifts the bound.
    package func setRate(_ bytesPerSecond: Int64?, of site: SiteID, forSeconds seconds: Double) {
        let now = MonotonicClock.nowSeconds
        meter(of: site).set(bytesPerSecond.map { max($0, 0) }, until: now + seconds, now: now)
        // What waits may go on sooner now.
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

    private func carryOut(_ effects: OriginScheduler.Effects) {
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
                    .coolingBehindRedirect, at: origin, retryAfterSeconds: seconds)
            }
        }
    }

    // MARK: The end

    /// Ends one transfer with `worker.cancelled`, unless it ends by itself first.
    package func cancel(_ transfer: Transfer) {
        cancel { $0 === transfer }
    }

    /// Ends those of some transfers with `worker.cancelled` that have not begun. The others go on, also those
    /// that begin just now.
    package func cancelUnbegun(_ transfers: [Transfer]) {
        let removed = scheduler.removeUnbegun(Set(transfers.map(\.id)))
        loops[0].execute { for transfer in removed { transfer.cancelUnstarted() } }
    }

    /// Ends every transfer of a group.
    package func cancelAll(group: String) {
        cancel { $0.request.group == group }
    }

    /// Ends every transfer of some jobs of a group.
    package func cancelAll(group: String, jobs: Set<JobID>) {
        cancel { transfer in
            transfer.request.group == group && transfer.request.job.map(jobs.contains) == true
        }
    }

    private func cancel(where matches: @escaping @Sendable (Transfer) -> Bool) {
        let removed = scheduler.remove(
            below: nextID.load(ordering: .relaxed), now: MonotonicClock.nowSeconds, where: matches)
        loops[0].execute { for transfer in removed { transfer.cancelUnstarted() } }
        for loop in loops { loop.cancel(where: matches) }
    }

    /// Ends every transfer with `worker.cancelled` and joins the threads. Not to be called on a loop.
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
    static let cancelled = Failure("worker.cancelled", "the transfer was cancelled")
    /// The work is somebody else's now, or nobody's for a while.
    static let noShare = Failure(
        "worker.cancelled", "no share is left of what the origin may be asked for")
    /// Given back, it would be led there again.
    static let noShareBehindRedirect = Failure(
        "origin.limited", "a redirect led to an origin that there is no share of")
    static let coolingBehindRedirect = Failure(
        "origin.limited", "a redirect led to an origin that is left alone for a while")
}
