internal import CLinux
internal import Glibc
internal import Synchronization

/// One thread with an epoll instance, a timerfd and an eventfd.
///
/// `execute`, `isInLoop` and `shutdown` may be called from any thread. Everything else runs on the
/// loop's thread and checks that with a precondition. Order of work within a tick: ready
/// descriptors, due timers, the inbox, idle work, then the end-of-tick hooks.
///
/// The loop is also a serial executor, so an actor can live on it.
///
/// Two locks: that of the inbox is held for moments, in each tick and each `execute`; that of the
/// thread is held by `shutdown` until the thread has ended, so that every caller returns after it.
package final class EventLoop: Sendable {
    let inbox = Mutex(LoopInbox())
    /// `pthread_self()` of the thread that now runs the loop's work; 0 before it starts.
    let owner = Atomic<UInt>(0)
    private let thread = Mutex<pthread_t?>(nil)
    private let name: String
    private let epoll: Int32
    private let wakeup: Int32
    private let timer: Int32
    /// Accessed by the loop's thread only: each use comes after `preconditionInLoop`, or is in
    /// `runThread`.
    nonisolated(unsafe) private let state = State()

    private struct Registration {
        var generation: UInt32 = 0
        var interest: Interest = []
        var handler: ((Int32, Readiness) -> Void)?
    }

    private final class State {
        /// Indexed by file descriptor.
        var registrations: [Registration] = []
        var generation: UInt32 = 0
        var timers = TimerHeap()
        /// The deadline of the armed timerfd; 0 if it is not armed.
        var armedDeadline: UInt64 = 0
        var hooks: [() -> Void] = []
        /// Work that waits for a poll without ready descriptors.
        var idleWork: [() -> Void] = []
        /// The empty one of two buffers that `drainInbox` exchanges.
        var batch: [LoopWork] = []
    }

    /// Creates the descriptors and starts the thread. `name` (at most 15 bytes) is shown by `top
    /// -H`.
    package init(name: String) throws(EventLoopError) {
        self.name = name
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw EventLoopError(call: "epoll_create1", code: errno) }
        wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeup >= 0 else {
            let code = errno
            close(epoll)
            throw EventLoopError(call: "eventfd", code: code)
        }
        timer = timerfd_create(
            CLOCK_MONOTONIC, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
        guard timer >= 0 else {
            let code = errno
            close(epoll)
            close(wakeup)
            throw EventLoopError(call: "timerfd_create", code: code)
        }
        // Edge-triggered: each write or expiry is one event, and nothing has to be read.
        for descriptor in [wakeup, timer] {
            try control(
                EPOLL_CTL_ADD, descriptor, events: EPOLLIN.rawValue | EPOLLET.rawValue,
                generation: 0)
        }
        try start()
    }

    /// Closed here and not by `shutdown`: a thread in `execute` may be about to write to the
    /// eventfd, whose number could belong to another file by then.
    deinit {
        close(epoll)
        close(wakeup)
        close(timer)
    }

    // MARK: Any thread

    /// True on the thread that now runs this loop's work.
    package var isInLoop: Bool {
        owner.load(ordering: .relaxed) == UInt(pthread_self())
    }

    /// Traps off the loop, which is a programming error.
    package func preconditionInLoop(_ function: StaticString = #function) {
        precondition(isInLoop, "\(function) must be called on the event loop's thread")
    }

    /// Runs `work` on the loop in this tick or the next, in the order of the calls.
    ///
    /// Returns false and drops `work` if the loop has been shut down.
    @discardableResult
    package func execute(_ work: @escaping @Sendable () -> Void) -> Bool {
        let (accepted, mustWake) = inbox.withLock { box in
            guard box.phase != .closed else { return (false, false) }
            box.jobs.append(.closure(work))
            defer { box.isSleeping = false }
            return (true, box.isSleeping)
        }
        if mustWake { wake() }
        return accepted
    }

    /// Runs the queued work, ends the thread and joins it. Timers and registrations are dropped
    /// without a call. May be called more than once.
    ///
    /// On the loop itself, where the last reference to its owner may go, it returns at once, and the
    /// thread ends after this tick.
    package func shutdown() {
        guard !isInLoop else { return detach() }
        thread.withLock { handle in
            guard let running = handle else { return }
            markClosing()
            wake()
            pthread_join(running, nil)
            handle = nil
        }
    }

    private func detach() {
        markClosing()
        // Another thread that has the lock joins this one.
        _ = thread.withLockIfAvailable { handle in
            guard let running = handle else { return }
            pthread_detach(running)
            handle = nil
        }
    }

    /// The thread ends once the queued work is done.
    private func markClosing() {
        inbox.withLock { box in
            guard box.phase == .open else { return }
            box.phase = .closing
            box.isSleeping = false
        }
    }

    func wake() {
        _ = dray_eventfd_signal(wakeup)
    }

    // MARK: Loop thread

    /// Watches `descriptor` until `deregister`; `handler` gets the descriptor and its events.
    ///
    /// One handler may serve many descriptors. The caller closes the descriptor, after
    /// `deregister`.
    package func register(
        _ descriptor: Int32, for interest: Interest,
        handler: @escaping (Int32, Readiness) -> Void
    ) throws(EventLoopError) {
        preconditionInLoop()
        precondition(descriptor >= 0)
        let index = Int(descriptor)
        while state.registrations.count <= index {
            state.registrations.append(Registration())
        }
        state.generation &+= 1
        let generation = state.generation
        do {
            try control(
                EPOLL_CTL_ADD, descriptor, events: interest.rawValue, generation: generation)
        } catch  where error.code == EEXIST {
            try control(
                EPOLL_CTL_MOD, descriptor, events: interest.rawValue, generation: generation)
        }
        state.registrations[index] = Registration(
            generation: generation, interest: interest, handler: handler)
    }

    /// Changes the events that a registered descriptor is watched for; the handler stays.
    package func modify(_ descriptor: Int32, for interest: Interest) throws(EventLoopError) {
        preconditionInLoop()
        let index = Int(descriptor)
        precondition(isRegistered(descriptor), "modify of an unregistered descriptor")
        guard state.registrations[index].interest != interest else { return }
        try control(
            EPOLL_CTL_MOD, descriptor, events: interest.rawValue,
            generation: state.registrations[index].generation)
        state.registrations[index].interest = interest
    }

    /// Stops watching `descriptor`: its handler is not called again, even for an event that has
    /// been collected already. Harmless for a descriptor that is not registered or is closed.
    package func deregister(_ descriptor: Int32) {
        preconditionInLoop()
        guard isRegistered(descriptor) else { return }
        state.registrations[Int(descriptor)] = Registration()
        // A closed descriptor has left the epoll set already.
        _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
    }

    package func isRegistered(_ descriptor: Int32) -> Bool {
        preconditionInLoop()
        let index = Int(descriptor)
        return index >= 0 && index < state.registrations.count
            && state.registrations[index].handler != nil
    }

    /// Creates a timer that is not armed yet.
    package func makeTimer(_ action: @escaping () -> Void) -> LoopTimer {
        LoopTimer(loop: self, action: action)
    }

    /// Runs `action` once after `seconds`, unless the returned timer is cancelled before.
    @discardableResult
    package func schedule(
        afterSeconds seconds: Double, _ action: @escaping () -> Void
    ) -> LoopTimer {
        let timer = makeTimer(action)
        timer.schedule(afterSeconds: seconds)
        return timer
    }

    /// Adds a hook that runs at the end of every tick from now on, for work to do once for all
    /// events of a tick. A hook must not wait.
    package func runAtEndOfTick(_ hook: @escaping () -> Void) {
        preconditionInLoop()
        state.hooks.append(hook)
    }

    /// Runs `work` once, as soon as a poll finds no ready descriptor, but before the loop waits. A
    /// shutdown drops it.
    package func runWhenIdle(_ work: @escaping () -> Void) {
        preconditionInLoop()
        state.idleWork.append(work)
    }

    func arm(_ timer: LoopTimer, deadline: UInt64) {
        preconditionInLoop()
        state.timers.remove(timer)
        timer.deadline = deadline
        state.timers.insert(timer)
    }

    func disarm(_ timer: LoopTimer) {
        preconditionInLoop()
        state.timers.remove(timer)
    }
}

// MARK: - The thread

extension EventLoop {
    private func start() throws(EventLoopError) {
        // The thread's reference keeps a running loop alive.
        let reference = Unmanaged.passRetained(self)
        var created = pthread_t()
        let code = pthread_create(
            &created, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().runThread()
                return nil
            }, reference.toOpaque())
        guard code == 0 else {
            reference.release()
            throw EventLoopError(call: "pthread_create", code: code)
        }
        let handle = created
        thread.withLock { $0 = handle }
    }

    private func runThread() {
        owner.store(UInt(pthread_self()), ordering: .relaxed)
        name.withCString { dray_name_thread($0) }
        let capacity = 256
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
        defer { events.deallocate() }
        while true {
            let (isClosing, isIdle) = inbox.withLock { box in
                box.isSleeping = box.jobs.isEmpty && box.phase == .open
                return (box.phase == .closing && box.jobs.isEmpty, box.isSleeping)
            }
            if isClosing { break }
            // Later additions wait for the next poll.
            let idleWorks = state.idleWork.count
            let mustWait = isIdle && idleWorks == 0 && !armTimer()
            let count = epoll_wait(epoll, events, Int32(capacity), mustWait ? -1 : 0)
            for index in 0..<Int(max(count, 0)) {
                dispatch(events[index])
            }
            fireTimers()
            drainInbox()
            if count <= 0 { runIdleWork(idleWorks) }
            for hook in state.hooks { hook() }
        }
        end()
    }

    private func dispatch(_ event: epoll_event) {
        let data = event.data.u64
        let descriptor = Int32(truncatingIfNeeded: data)
        let generation = UInt32(truncatingIfNeeded: data >> 32)
        let index = Int(descriptor)
        // Generation 0 is the loop's own eventfd or timerfd, which only wakes it.
        guard generation != 0, index < state.registrations.count,
            state.registrations[index].generation == generation,
            let handler = state.registrations[index].handler
        else { return }
        handler(descriptor, Readiness(rawValue: event.events))
    }

    /// Sets the timerfd to the first deadline; returns true if that has passed already.
    ///
    /// A timerfd armed for an earlier time stays: one needless wake-up costs less than a system
    /// call for each timer that moves later.
    private func armTimer() -> Bool {
        guard let first = state.timers.first else { return false }
        let now = MonotonicClock.nowNanoseconds
        if first.deadline <= now { return true }
        let isArmed = state.armedDeadline > now && state.armedDeadline <= first.deadline
        if !isArmed {
            _ = dray_timerfd_arm(timer, first.deadline)
            state.armedDeadline = first.deadline
        }
        return false
    }

    private func fireTimers() {
        guard state.timers.first != nil else { return }
        // Fixed, so that a timer that arms itself with 0 seconds waits for the next tick.
        let now = MonotonicClock.nowNanoseconds
        while let first = state.timers.first, first.deadline <= now {
            state.timers.remove(first)
            first.action()
        }
    }

    private func drainInbox() {
        inbox.withLock { box in
            box.isSleeping = false
            swap(&box.jobs, &state.batch)
        }
        guard !state.batch.isEmpty else { return }
        var batch: [LoopWork] = []
        swap(&batch, &state.batch)
        for job in batch { run(job) }
        batch.removeAll(keepingCapacity: true)
        swap(&batch, &state.batch)
    }

    private func runIdleWork(_ count: Int) {
        guard count > 0 else { return }
        let works = state.idleWork.prefix(count)
        state.idleWork.removeFirst(count)
        for work in works { work() }
    }

    func run(_ job: LoopWork) {
        switch job {
        case .closure(let work): work()
        case .task(let task): task.runSynchronously(on: asUnownedSerialExecutor())
        case .guest(let task, let executor): task.runSynchronously(on: executor)
        }
    }

    /// Performs the last work of the thread: drops its confined state, then lets tasks of actors
    /// that still live on this loop run elsewhere.
    private func end() {
        state.timers.removeAll()
        state.registrations.removeAll()
        state.hooks.removeAll()
        state.idleWork.removeAll()
        let isLeft = inbox.withLock { box in
            box.phase = .closed
            box.isDraining = !box.jobs.isEmpty
            if !box.isDraining { owner.store(0, ordering: .relaxed) }
            return box.isDraining
        }
        if isLeft { drainAfterEnd() }
    }

    private func control(
        _ operation: Int32, _ descriptor: Int32, events: UInt32, generation: UInt32
    ) throws(EventLoopError) {
        var event = epoll_event()
        event.events = events
        event.data.u64 = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
        guard epoll_ctl(epoll, operation, descriptor, &event) == 0 else {
            throw EventLoopError(call: "epoll_ctl", code: errno)
        }
    }
}
