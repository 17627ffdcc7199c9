internal import Curl
internal import EventLoop
internal import Model
import Synchronization

/// One thread of an engine: an event loop, its multi handle and the transfers that run on it.
///
/// `@unchecked`: everything but `free` and `isWoken` is touched on the loop's thread only, which
/// `EventLoop` and `CurlMulti` check.
final class TransferLoop: @unchecked Sendable {
    let loop: EventLoop
    let options: TransferEngine.Options
    private let capacity: Int
    /// Slots without a transfer, for other threads to look at.
    private let free: Atomic<Int>
    /// A `fill` is on its way.
    private let isWoken = Atomic<Bool>(false)

    private var multi: CurlMulti?
    private var idle: [CurlEasy] = []
    private var active: [UInt64: ActiveTransfer] = [:]
    private var take: ((Int) -> (transfers: [Transfer], isMore: Bool))?
    private var ticker: LoopTimer?
    private var plainHeaders: CurlHeaders?

    init(loop: EventLoop, capacity: Int, options: TransferEngine.Options) {
        self.loop = loop
        self.capacity = capacity
        self.options = options
        free = Atomic(capacity)
    }

    // MARK: From any thread

    /// Begins to take transfers; `take` answers up to as many as it is asked for.
    func start(
        take: @escaping @Sendable (Int) -> (transfers: [Transfer], isMore: Bool)
    ) {
        loop.execute { [self] in
            self.take = take
            ticker = loop.makeTimer { [weak self] in self?.tick() }
            fill()
        }
    }

    /// Lets the loop look at the queue, when it has a slot.
    func wakeIfFree() {
        guard free.load(ordering: .relaxed) > 0,
            !isWoken.exchange(true, ordering: .acquiringAndReleasing)
        else { return }
        loop.execute { [self] in
            isWoken.store(false, ordering: .releasing)
            fill()
        }
    }

    func execute(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }

    func cancel(where matches: @escaping @Sendable (Transfer) -> Bool) {
        loop.execute { [self] in cancelActive(where: matches) }
    }

    func shutdown() {
        loop.execute { [self] in
            take = nil
            cancelActive { _ in true }
            multi?.close()
            multi = nil
            idle.removeAll()
            plainHeaders = nil
            ticker?.cancel()
            ticker = nil
        }
        loop.shutdown()
    }

    // MARK: On the loop

    private func fill() {
        // Before the queue is looked at: who appends to it after that sees the free slots.
        free.store(capacity - active.count, ordering: .relaxed)
        guard active.count < capacity, let (transfers, isMore) = take?(capacity - active.count)
        else { return }
        for transfer in transfers { start(transfer) }
        free.store(capacity - active.count, ordering: .relaxed)
        // Not at once: the other loops are to have their share.
        if isMore { wakeIfFree() }
    }

    private func start(_ transfer: Transfer) {
        do throws(Failure) {
            try start(transfer, easy: takeEasy())
        } catch {
            transfer.handle(.fail)
            transfer.completion(transfer, TransferResult(.failure(error)))
        }
        if let ticker, !ticker.isArmed { ticker.schedule(afterSeconds: options.tickSeconds) }
    }

    private func start(_ transfer: Transfer, easy: CurlEasy) throws(Failure) {
        do throws(Failure) {
            let started = try ActiveTransfer(transfer, easy: easy, loop: self)
            active[transfer.id] = started
            try started.connect()
        } catch {
            active[transfer.id] = nil
            easy.delegate = nil
            idle.append(easy)
            throw error
        }
    }

    private func takeEasy() throws(Failure) -> CurlEasy {
        if let easy = idle.popLast() { return easy }
        var settings = CurlEasy.Options(userAgent: "dray/\(drayVersion)")
        settings.bufferBytes = options.bufferBytes
        settings.caFile = options.caFile
        return try asFailure { () throws(CurlError) in try CurlEasy(options: settings) }
    }

    /// Starts the request that `transfer`'s easy handle is set for.
    func add(_ easy: CurlEasy) throws(Failure) {
        let multi = try multiHandle()
        try asFailure { () throws(CurlError) in try multi.add(easy) }
    }

    /// Stops the request at once; its delegate hears nothing more.
    func remove(_ easy: CurlEasy) { multi?.remove(easy) }

    private func multiHandle() throws(Failure) -> CurlMulti {
        if let multi { return multi }
        var limits = CurlMulti.Limits()
        limits.totalConnections = capacity
        limits.hostConnections = options.hostConnections
        let made = try asFailure { () throws(CurlError) in
            try CurlMulti(loop: loop, limits: limits)
        }
        multi = made
        return made
    }

    /// The header lines of a plain request, shared by all.
    func headers(_ lines: [String]) throws(Failure) -> CurlHeaders {
        if lines.isEmpty, let plainHeaders { return plainHeaders }
        let made = try asFailure { () throws(CurlError) in
            try CurlHeaders(["Accept-Encoding: identity"] + lines)
        }
        if lines.isEmpty { plainHeaders = made }
        return made
    }

    /// Hands a transfer's result out and its slot to the next.
    func finish(_ ended: ActiveTransfer, _ result: TransferResult) {
        let transfer = ended.transfer
        guard active.removeValue(forKey: transfer.id) != nil else { return }
        ended.easy.delegate = nil
        idle.append(ended.easy)
        transfer.completion(transfer, result)
        fill()
    }

    private func cancelActive(where matches: (Transfer) -> Bool) {
        for running in Array(active.values) where matches(running.transfer) {
            running.end(.cancelled)
        }
    }

    private func tick() {
        let now = MonotonicClock.nowSeconds
        for running in Array(active.values) {
            if let failure = running.overdue(now: now) { running.end(failure) }
        }
        if !active.isEmpty { ticker?.schedule(afterSeconds: options.tickSeconds) }
    }
}

/// Runs `body` and answers libcurl's refusal as the failure it means.
func asFailure<Value>(_ body: () throws(CurlError) -> Value) throws(Failure) -> Value {
    do throws(CurlError) {
        return try body()
    } catch {
        let isURL = error.code == .malformedURL || error.code == .unsupportedProtocol
        throw Failure(isURL ? "input.url" : "worker.internal", error.description)
    }
}
