import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import EventLoop

/// A loop that ends with the test.
private func withLoop<T>(_ body: (EventLoop) async throws -> T) async throws -> T {
    let loop = try EventLoop(name: "test")
    defer { loop.shutdown() }
    return try await body(loop)
}

extension EventLoop {
    /// Runs `body` on the loop and waits for it.
    fileprivate func run<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
        await withCheckedContinuation { continuation in
            execute { continuation.resume(returning: body()) }
        }
    }
}

/// Both ends of a connected pair of nonblocking sockets.
private func socketPair() -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    #expect(
        socketpair(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
    return (ends[0], ends[1])
}

private final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func increment() { count.withLock { $0 += 1 } }
}

@Suite struct LoopInboxTests {
    @Test func workRunsInTheOrderOfTheCalls() async throws {
        try await withLoop { loop in
            let seen = Mutex<[Int]>([])
            for number in 0..<1000 {
                loop.execute { seen.withLock { $0.append(number) } }
            }
            await loop.run {}
            #expect(seen.withLock { $0 } == Array(0..<1000))
        }
    }

    @Test func isInLoopOnlyOnTheLoop() async throws {
        try await withLoop { loop in
            #expect(!loop.isInLoop)
            #expect(await loop.run { loop.isInLoop })
        }
    }

    @Test func manyThreadsLoseNothing() async throws {
        try await withLoop { loop in
            let counter = Counter()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<2000 {
                            loop.execute { counter.increment() }
                        }
                    }
                }
            }
            await loop.run {}
            #expect(counter.value == 16000)
        }
    }

    @Test func shutdownRunsWhatIsQueuedAndRefusesWhatFollows() throws {
        let loop = try EventLoop(name: "test")
        let count = Mutex(0)
        for _ in 0..<100 { loop.execute { count.withLock { $0 += 1 } } }
        loop.shutdown()
        loop.shutdown()
        #expect(count.withLock { $0 } == 100)
        #expect(!loop.execute { count.withLock { $0 += 1 } })
    }

    /// As the last reference to its owner may go on the loop.
    @Test func aLoopThatShutsItselfDownEnds() async throws {
        let loop = try EventLoop(name: "test")
        await withCheckedContinuation { continuation in
            loop.execute {
                loop.shutdown()
                // Queued work still runs.
                loop.execute { continuation.resume() }
            }
        }
        try await waitUntil(deadlineSeconds: 30, "the end of the loop") { !loop.execute {} }
        loop.shutdown()
    }
}

@Suite struct DescriptorTests {
    @Test func readableAndWritableAreReported() async throws {
        try await withLoop { loop in
            let (near, far) = socketPair()
            defer { close(far) }
            let found: Readiness = await withCheckedContinuation { continuation in
                loop.execute {
                    try? loop.register(near, for: .readable) { descriptor, ready in
                        loop.deregister(descriptor)
                        continuation.resume(returning: ready)
                    }
                    _ = write(far, "x", 1)
                }
            }
            #expect(found == .readable)
            let writable: Readiness = await withCheckedContinuation { continuation in
                loop.execute {
                    try? loop.register(near, for: .readable) { descriptor, ready in
                        if ready.contains(.writable) {
                            loop.deregister(descriptor)
                            close(descriptor)
                            continuation.resume(returning: ready)
                        }
                    }
                    try? loop.modify(near, for: [.writable])
                }
            }
            #expect(writable == .writable)
        }
    }

    @Test func hangUpIsReportedWithoutInterest() async throws {
        try await withLoop { loop in
            let (near, far) = socketPair()
            let found: Readiness = await withCheckedContinuation { continuation in
                loop.execute {
                    try? loop.register(near, for: []) { descriptor, ready in
                        loop.deregister(descriptor)
                        close(descriptor)
                        continuation.resume(returning: ready)
                    }
                    close(far)
                }
            }
            #expect(found.contains(.hangUp))
        }
    }

    /// Two descriptors are ready in one tick; the first handler closes the other one and gives its
    /// number to a new socket. The event collected for the old one must not reach the new handler.
    @Test func staleEventDoesNotReachTheReusedDescriptor() async throws {
        try await withLoop { loop in
            let strayEvents = Mutex(0)
            let registered = Mutex(0)
            await loop.run {
                let pairs = [socketPair(), socketPair()]
                for (index, pair) in pairs.enumerated() {
                    try? loop.register(pair.0, for: .readable) { _, _ in
                        for each in pairs { loop.deregister(each.0) }
                        // dup2 closes the other one and gives its number to the new socket.
                        let other = pairs[1 - index].0
                        dup2(socketPair().0, other)
                        try? loop.register(other, for: .readable) { _, _ in
                            strayEvents.withLock { $0 += 1 }
                        }
                        registered.withLock { $0 += loop.isRegistered(other) ? 1 : 0 }
                    }
                    _ = write(pair.1, "x", 1)
                }
            }
            await loop.run {}
            await loop.run {}
            #expect(registered.withLock { $0 } == 1)
            #expect(strayEvents.withLock { $0 } == 0)
        }
    }

    @Test func idleWorkComesAfterAllThatIsReadyAndOnce() async throws {
        try await withLoop { loop in
            let order = Mutex<[String]>([])
            let (near, far) = socketPair()
            defer { close(far) }
            await withCheckedContinuation { continuation in
                loop.execute {
                    var reads = 0
                    try? loop.register(near, for: .readable) { descriptor, _ in
                        reads += 1
                        order.withLock { $0.append("ready") }
                        guard reads == 3 else { return }
                        loop.deregister(descriptor)
                        close(descriptor)
                    }
                    _ = write(far, "x", 1)
                    loop.runWhenIdle {
                        order.withLock { $0.append("idle") }
                        loop.runWhenIdle { continuation.resume() }
                    }
                }
            }
            #expect(order.withLock { $0 } == ["ready", "ready", "ready", "idle"])
        }
    }

    @Test func regularFileIsRefused() async throws {
        try await withLoop { loop in
            let code = await loop.run { () -> Int32 in
                let file = open("/proc/self/exe", O_RDONLY)
                defer { close(file) }
                do throws(EventLoopError) {
                    try loop.register(file, for: .readable) { _, _ in }
                    return 0
                } catch { return error.code }
            }
            #expect(code == EPERM)
        }
    }
}

@Suite struct TimerTests {
    @Test func timersFireInTheOrderOfTheirDeadlines() async throws {
        try await withLoop { loop in
            let delays = [5, 1, 4, 2, 3, 0]
            let seen = Mutex<[Int]>([])
            // A thread that is held up between two calls arms the later one later: the deadlines
            // decide, not the delays.
            let deadlines = Mutex<[Int: UInt64]>([:])
            await withCheckedContinuation { continuation in
                loop.execute {
                    for delay in delays {
                        let timer = loop.schedule(afterSeconds: Double(delay) * 0.002) {
                            let count = seen.withLock {
                                $0.append(delay)
                                return $0.count
                            }
                            if count == delays.count { continuation.resume() }
                        }
                        let deadline = timer.deadline
                        deadlines.withLock { $0[delay] = deadline }
                    }
                }
            }
            let fired = seen.withLock { $0 }
            let times = deadlines.withLock { deadlines in fired.compactMap { deadlines[$0] } }
            #expect(times.count == delays.count && times == times.sorted())
        }
    }

    @Test func cancelledTimerDoesNotFire() async throws {
        try await withLoop { loop in
            let fired = Mutex<[String]>([])
            await withCheckedContinuation { continuation in
                loop.execute {
                    let timers = (0..<50).map { index in
                        loop.schedule(afterSeconds: Double(index % 7) * 0.001) {
                            fired.withLock { $0.append("cancelled") }
                        }
                    }
                    for timer in timers { timer.cancel() }
                    loop.schedule(afterSeconds: 0.01) {
                        fired.withLock { $0.append("kept") }
                        continuation.resume()
                    }
                }
            }
            #expect(fired.withLock { $0 } == ["kept"])
        }
    }

    @Test func rearmedTimerFiresOnceAtItsLastTime() async throws {
        try await withLoop { loop in
            let start = MonotonicClock.nowSeconds
            let elapsed: Double = await withCheckedContinuation { continuation in
                loop.execute {
                    let timer = loop.makeTimer {
                        continuation.resume(returning: MonotonicClock.nowSeconds - start)
                    }
                    timer.schedule(afterSeconds: 0.001)
                    timer.schedule(afterSeconds: 60)
                    timer.schedule(afterSeconds: 0.02)
                }
            }
            #expect(elapsed >= 0.02)
            #expect(elapsed < 60)
        }
    }

    /// An earlier deadline must rearm the timerfd that waits for a later one.
    @Test func earlierTimerIsNotHeldBackByALaterOne() async throws {
        try await withLoop { loop in
            await loop.run { _ = loop.schedule(afterSeconds: 3600) {} }
            let start = MonotonicClock.nowSeconds
            await withCheckedContinuation { continuation in
                loop.execute { loop.schedule(afterSeconds: 0.001) { continuation.resume() } }
            }
            #expect(MonotonicClock.nowSeconds - start < 3_600)
        }
    }

    @Test(arguments: [Double.nan, -1, -Double.infinity])
    func oddDelaysFireAtOnce(_ delay: Double) async throws {
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.execute { loop.schedule(afterSeconds: delay) { continuation.resume() } }
            }
        }
    }
}

@Suite struct HookTests {
    @Test func hookRunsOnceATick() async throws {
        try await withLoop { loop in
            let log = Mutex<[String]>([])
            await loop.run {
                loop.runAtEndOfTick { log.withLock { $0.append("hook") } }
                loop.execute { log.withLock { $0.append("first") } }
                loop.execute { log.withLock { $0.append("second") } }
            }
            // The first may come into the same tick; the second is in a later one.
            for _ in 1...2 { await loop.run {} }
            #expect(log.withLock { Array($0.prefix(4)) } == ["hook", "first", "second", "hook"])
        }
    }
}

private actor Resident {
    private let loop: EventLoop
    private var count = 0
    init(loop: EventLoop) { self.loop = loop }
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func add() async -> Bool {
        let before = count
        count = before + 1
        let isOnLoop = loop.isInLoop
        await Task.yield()
        return isOnLoop && loop.isInLoop
    }
    func total() -> Int { count }
}

@Suite struct ExecutorTests {
    @Test func actorRunsOnItsLoop() async throws {
        try await withLoop { loop in
            let resident = Resident(loop: loop)
            for _ in 0..<10 { #expect(await resident.add()) }
            #expect(await resident.total() == 10)
        }
    }

    @Test func actorIsSerialAfterTheLoopHasEnded() async throws {
        let loop = try EventLoop(name: "test")
        let resident = Resident(loop: loop)
        loop.shutdown()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<200 { group.addTask { _ = await resident.add() } }
        }
        #expect(await resident.total() == 200)
    }
}

@Suite struct SignalTests {
    @Test func blockedSignalReachesTheHandler() async throws {
        try await withLoop { loop in
            // SIGUSR2 sent to one thread that blocks it would reach only that thread's signalfd
            // reader, so the loop's thread sends it to itself.
            let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
            let source: SignalSource = try await withCheckedThrowingContinuation { made in
                loop.execute {
                    Signals.block([SIGUSR2])
                    made.resume(
                        with: Result {
                            try SignalSource([SIGUSR2], on: loop) { continuation.yield($0) }
                        })
                }
            }
            loop.execute { pthread_kill(pthread_self(), SIGUSR2) }
            var signals = stream.makeAsyncIterator()
            #expect(await signals.next() == SIGUSR2)
            source.cancel()
        }
    }
}
