internal import Curl
internal import Digest
internal import Dispatch
internal import EventLoop
internal import Model
internal import Storage

/// One thread of an engine: an event loop, its multi handle and the transfers that run on it.
///
/// `@unchecked`: everything but `free` is accessed on the loop's thread only, which
/// `EventLoop` and `CurlMulti` check.
final class TransferLoop: @unchecked Sendable {
    let loop: EventLoop
    let index: Int
    let scheduler: OriginScheduler
    let profiles: OriginProfiles
    let options: TransferEngine.Options
    private let free: FreeSlots
    var handles = CurlHandles()
    var active: [UInt64: ActiveTransfer] = [:]
    /// Applies effects in the engine; nil before `start` and after `shutdown`.
    private var execute: ((OriginScheduler.Effects) -> Void)?
    /// Nil before `start` and after `shutdown`.
    var timers: TransferLoopTimers?
    var connections = LoopConnections()
    /// Destinations to open in this tick.
    private var toOpen: [OpeningDestination] = []
    let meters = PausedTransfers()
    /// Nil if hashing one body at a time is faster.
    let unhashed: UnhashedBodies?

    init(
        loop: EventLoop, index: Int, capacity: Int, scheduler: OriginScheduler,
        profiles: OriginProfiles, options: TransferEngine.Options
    ) {
        self.loop = loop
        self.index = index
        self.scheduler = scheduler
        self.profiles = profiles
        self.options = options
        free = FreeSlots(capacity: capacity)
        unhashed = UnhashedBodies(atATime: options.digestBatch)
    }

    // MARK: Any thread

    /// Starts to take transfers.
    func start(execute: @escaping @Sendable (OriginScheduler.Effects) -> Void) {
        loop.execute { [self] in
            self.execute = execute
            timers = TransferLoopTimers(
                ticker: loop.makeTimer { [weak self] in self?.tick() },
                limits: loop.makeTimer { [weak self] in self?.limitTick() },
                meters: loop.makeTimer { [weak self] in self?.meterTick() })
            fill()
        }
    }

    /// Fills the loop's free slots from the queue.
    func wakeIfFree() {
        guard free.takeWake() else { return }
        loop.execute { [self] in
            free.wake()
            fill()
        }
    }

    /// Applies limits and stops on the loop.
    func settleSoon() {
        loop.execute { [self] in
            for origin in scheduler.unsettled(on: index) { settle(origin) }
            for transfer in scheduler.takeStops(on: index) { stop(transfer) }
        }
    }

    /// Calls the scheduler's `tick` at `time` or before.
    func tickLimits(at time: Double) {
        loop.execute { [self] in timers?.limits.fire(by: time) }
    }

    func execute(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }

    func cancel(where matches: @escaping @Sendable (Transfer) -> Bool) {
        loop.execute { [self] in cancelActive(where: matches) }
    }

    func shutdown() {
        loop.execute { [self] in
            cancelActive { _ in true }
            for running in Array(active.values) { running.finishUnopened() }
            execute = nil
            handles.multi?.close()
            handles = CurlHandles()
            timers?.cancel()
            timers = nil
        }
        loop.shutdown()
    }

    // MARK: The loop's thread

    func perform(_ effects: OriginScheduler.Effects) {
        guard !effects.isEmpty else { return }
        execute?(effects)
    }

    /// Starts transfers in the loop's free slots, after one of its own has ended.
    func fill(releasing release: OriginScheduler.Release? = nil) {
        guard execute != nil else { return }
        // Before the queue is read: a thread that appends to it afterwards sees the free slots.
        let slots = free.note(active: active.count)
        guard slots > 0 || release != nil else { return }
        let batch = scheduler.take(
            slots, on: index, releasing: release, now: MonotonicClock.nowSeconds)
        for waiting in batch.starts { start(waiting) }
        free.note(active: active.count)
        perform(batch.effects)
        // Not at once, so that the other loops get their part.
        if batch.isMore { wakeIfFree() }
    }

    private func start(_ waiting: Waiting) {
        do throws(Failure) {
            try start(waiting, easy: handles.take(bufferBytes: options.bufferBytes))
        } catch {
            let transfer = waiting.transfer
            let release = OriginScheduler.Release(
                origin: waiting.origin, transfer: transfer.id, ending: .silent)
            perform(scheduler.release(release, on: index, now: MonotonicClock.nowSeconds))
            transfer.handle(.fail)
            transfer.completion(transfer, TransferResult(.failure(error)))
            wakeIfFree()
        }
        timers?.startTicks(everySeconds: options.tickSeconds)
    }

    private func start(_ waiting: Waiting, easy: CurlEasy) throws(Failure) {
        let transfer = waiting.transfer
        do throws(Failure) {
            let started = try ActiveTransfer(waiting, easy: easy, loop: self)
            active[transfer.id] = started
            try started.connect()
        } catch {
            let easy = active.removeValue(forKey: transfer.id)?.easy ?? easy
            handles.giveBack(easy)
            throw error
        }
    }

    /// Starts the request that `easy` is set up for.
    func add(_ easy: CurlEasy) throws(Failure) {
        let multi = try multiHandle()
        try asFailure { () throws(CurlError) in try multi.add(easy) }
    }

    /// Stops the request at once; its delegate gets no more calls.
    func remove(_ easy: CurlEasy) { handles.multi?.remove(easy) }

    private func multiHandle() throws(Failure) -> CurlMulti {
        try handles.multi { () throws(Failure) in
            var limits = CurlMulti.Limits()
            limits.totalConnections = free.capacity
            limits.hostConnections = options.hostConnections
            let made = try asFailure { () throws(CurlError) in
                try CurlMulti(loop: loop, limits: limits)
            }
            made.onClose = { [weak self] socket in self?.closed(socket) }
            return made
        }
    }

    func headers(_ lines: [String], of profile: OriginProfile) throws(Failure) -> CurlHeaders {
        try handles.headers(lines, of: profile)
    }

    /// Concurrent threads, so that a blocked disk delays only its own openings.
    private static let openings = DispatchQueue(
        label: "dray.openings", qos: .utility, attributes: .concurrent)

    /// Opens a destination on another thread and reports to the transfer. The destinations of one
    /// tick are opened together.
    func openInBackground(
        _ transfer: UInt64, bytes: Int64?,
        _ open: @escaping @Sendable (_ bytes: Int64?) throws(Failure) -> PendingObject
    ) {
        toOpen.append(OpeningDestination(transfer: transfer, bytes: bytes, open: open))
        guard toOpen.count == 1 else { return }
        loop.execute { [self] in
            let destinations = toOpen
            toOpen = []
            Self.openings.async { [self] in
                for destination in destinations {
                    let result = destination.result()
                    loop.execute { [self] in active[destination.transfer]?.opened(result) }
                }
            }
        }
    }

    /// Reports a transfer's result and gives its slot to the next.
    func finish(_ ended: ActiveTransfer, _ result: TransferResult) {
        let transfer = ended.transfer
        if case .success = result.outcome, ended.mayShareConnection {
            noteTraffic(ended, now: MonotonicClock.nowSeconds)
        }
        guard leave(ended) else { return }
        var release = OriginScheduler.Release(
            origin: ended.origin, transfer: transfer.id, ending: ended.ending(result))
        release.cooldownSeconds = result.retryAfterSeconds ?? 0
        note(ended, in: &release)
        guard ended.origin.isLimited else {
            transfer.completion(transfer, result)
            return fill(releasing: release)
        }
        // Before the report: a connection that is no longer needed is closed by then.
        perform(scheduler.release(release, on: index, now: MonotonicClock.nowSeconds))
        settle(ended.origin)
        transfer.completion(transfer, result)
        fill()
    }

    /// Gives the slot of a transfer with a complete body to the next; reports its result once the
    /// body is hashed.
    func finish(_ ended: ActiveTransfer, unhashed body: ShortMessage, _ result: TransferResult) {
        guard let unhashed else { preconditionFailure("nothing was collected without origins") }
        if ended.mayShareConnection { noteTraffic(ended, now: MonotonicClock.nowSeconds) }
        guard leave(ended) else { return giveBack(body) }
        var release = OriginScheduler.Release(
            origin: ended.origin, transfer: ended.transfer.id, ending: ended.ending(result))
        note(ended, in: &release)
        let isEnough = unhashed.append(ended, body, result)
        if ended.origin.isLimited {
            perform(scheduler.release(release, on: index, now: MonotonicClock.nowSeconds))
            settle(ended.origin)
            fill()
        } else {
            fill(releasing: release)
        }
        if isEnough { unhashed.hash() } else { unhashed.hashWhenIdle(loop) }
    }

    func giveBack(_ body: ShortMessage?) {
        if let body { unhashed?.give(body) }
    }

    /// Removes a transfer from the loop; returns false if it was removed before.
    func leave(_ running: ActiveTransfer) -> Bool {
        guard active.removeValue(forKey: running.transfer.id) != nil else { return false }
        meters.remove(running)
        giveBack(running.life.receiving?.body.digests.takeCollected())
        handles.giveBack(running.easy)
        return true
    }

    /// Continues a transfer with `route`: on this loop now if there is a slot, otherwise when its
    /// origin has one.
    func move(_ running: ActiveTransfer, to route: Route, later: Bool) throws(Failure) {
        let now = MonotonicClock.nowSeconds
        let from = running.origin
        let origin = scheduler.origin(ofURL: route.url, now: now)
        let isFree = origin === from && !later && !origin.isLimited
        var move = OriginScheduler.Move.start
        if !isFree {
            let release = OriginScheduler.Release(
                origin: from, transfer: running.transfer.id, ending: .silent)
            let (moved, effects) = scheduler.move(
                Waiting(transfer: running.transfer, origin: origin, route: route), from: release,
                on: index, later: later, now: now)
            move = moved
            perform(effects)
        }
        if move == .start {
            running.follow(route, origin)
            return try running.connect()
        }
        guard leave(running) else { return }
        settle(from)
        if move == .cancelled { running.transfer.cancelUnstarted() }
        fill()
    }

    private func cancelActive(where matches: (Transfer) -> Bool) {
        // These bodies are complete.
        unhashed?.hash()
        for running in Array(active.values) where matches(running.transfer) {
            running.end(.cancelled)
        }
    }

    // MARK: Time

    private func limitTick() {
        timers?.limits.fired()
        perform(scheduler.tick(now: MonotonicClock.nowSeconds))
    }

    /// Continues the transfers whose turn has come.
    func meterTick() {
        timers?.meters.fired()
        if let seconds = meters.resume() { callMeter(afterSeconds: seconds) }
    }

    private func callMeter(afterSeconds seconds: Double) {
        timers?.meters.fire(by: MonotonicClock.nowSeconds + seconds)
    }

    /// Returns whether a transfer may take the offered bytes; if not, it is paused until its turn.
    func takes(_ count: Int, _ running: ActiveTransfer) -> Bool {
        guard let seconds = meters.takes(count, running) else { return true }
        callMeter(afterSeconds: seconds)
        return false
    }
}

/// Runs `body` and converts libcurl's error to a failure.
func asFailure<Value>(_ body: () throws(CurlError) -> Value) throws(Failure) -> Value {
    do throws(CurlError) {
        return try body()
    } catch {
        let isURL = error.code == .malformedURL || error.code == .unsupportedProtocol
        throw Failure(isURL ? .inputURL : .workerInternal, error.description)
    }
}
