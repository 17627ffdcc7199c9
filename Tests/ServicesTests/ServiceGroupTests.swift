import Services
import Synchronization
import Testing

/// Records what happens to services, in order.
private final class Journal: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

private struct Broken: Error {}

/// A service that runs until it is drained or cancelled.
private struct Recorder: DrainableService {
    let name: String
    let journal: Journal
    var ignoresDrain = false
    var failsToStart = false
    /// Triggered once `run` has started.
    let isRunning = ShutdownSignal()
    let leaves = ShutdownSignal()

    func start() async throws {
        journal.add("\(name) start")
        if failsToStart { throw Broken() }
    }

    func run() async throws {
        journal.add("\(name) run")
        isRunning.trigger()
        await leaves.wait()
        journal.add(Task.isCancelled ? "\(name) cancelled" : "\(name) returned")
    }

    func drain() async {
        journal.add("\(name) drain")
        if !ignoresDrain { leaves.trigger() }
    }

    func stop() async { journal.add("\(name) stop") }
}

/// A service that cannot drain, and fails on request.
private struct Plain: Service {
    let name: String
    let journal: Journal
    let fails = ShutdownSignal()

    func run() async throws {
        await fails.wait()
        if fails.isDraining { throw Broken() }
        journal.add("\(name) cancelled")
    }

    func stop() async { journal.add("\(name) stop") }
}

@Suite(.timeLimit(.minutes(1))) struct ServiceGroupTests {
    private let journal = Journal()
    private let signals: AsyncStream<Int32>
    private let sender: AsyncStream<Int32>.Continuation

    init() { (signals, sender) = AsyncStream.makeStream(of: Int32.self) }

    @Test func startsInOrderAndDrainsInReverseOnASignal() async throws {
        let database = Plain(name: "database", journal: journal)
        let server = Recorder(name: "server", journal: journal)
        let worker = Recorder(name: "worker", journal: journal)
        let group = ServiceGroup(
            stages: [[database], [server], [worker]], graceSeconds: 30, signals: signals)
        async let ending = group.run()
        await worker.isRunning.wait()
        await server.isRunning.wait()
        sender.yield(15)
        #expect(try await ending == .signalled(15, isForced: false))
        let stops = journal.all.filter { !$0.hasSuffix(" run") }
        #expect(
            stops == [
                "server start", "worker start", "worker drain", "worker returned", "worker stop",
                "server drain", "server returned", "server stop", "database cancelled",
                "database stop",
            ])
    }

    @Test func aSecondSignalEndsTheGrace() async throws {
        let worker = Recorder(name: "worker", journal: journal, ignoresDrain: true)
        let group = ServiceGroup(stages: [[worker]], graceSeconds: 3_600, signals: signals)
        async let ending = group.run()
        await worker.isRunning.wait()
        sender.yield(2)
        sender.yield(2)
        #expect(try await ending == .signalled(2, isForced: true))
        #expect(journal.all.suffix(2) == ["worker cancelled", "worker stop"])
    }

    @Test func theGraceIsBounded() async throws {
        let worker = Recorder(name: "worker", journal: journal, ignoresDrain: true)
        let group = ServiceGroup(stages: [[worker]], graceSeconds: 0.05, signals: signals)
        async let ending = group.run()
        await worker.isRunning.wait()
        sender.yield(2)
        #expect(try await ending == .signalled(2, isForced: false))
        #expect(journal.all.contains("worker cancelled"))
    }

    @Test func aFailureStopsEverythingAndIsThrown() async throws {
        let server = Plain(name: "server", journal: journal)
        let worker = Recorder(name: "worker", journal: journal)
        let group = ServiceGroup(stages: [[server], [worker]], graceSeconds: 30, signals: signals)
        let ending = Task { try await group.run() }
        await worker.isRunning.wait()
        server.fails.trigger()
        await #expect(throws: Broken.self) { try await ending.value }
        #expect(journal.all.suffix(2) == ["worker stop", "server stop"])
    }

    @Test func aFailedStartStopsWhatWasStarted() async throws {
        let server = Recorder(name: "server", journal: journal)
        let worker = Recorder(name: "worker", journal: journal, failsToStart: true)
        let last = Recorder(name: "last", journal: journal)
        let group = ServiceGroup(
            stages: [[server], [worker], [last]], graceSeconds: 30, signals: signals)
        await #expect(throws: Broken.self) { try await group.run() }
        #expect(journal.all.last == "server stop")
        #expect(!journal.all.contains("worker stop"))
        #expect(!journal.all.contains("last start"))
    }

    @Test func theGroupEndsWhenAServiceReturns() async throws {
        let server = Plain(name: "server", journal: journal)
        let command = Recorder(name: "command", journal: journal)
        let group = ServiceGroup(stages: [[server], [command]], graceSeconds: 30, signals: signals)
        async let ending = group.run()
        await command.isRunning.wait()
        command.leaves.trigger()
        #expect(try await ending == .finished)
        #expect(journal.all.suffix(2) == ["server cancelled", "server stop"])
    }

    @Test func waitingForAShutdownSignalEndsWithTheTask() async {
        let never = ShutdownSignal()
        let task = Task { await never.wait() }
        task.cancel()
        await task.value
        #expect(await never.wait(atMost: .milliseconds(1)) == false)
        never.trigger()
        never.trigger()
        #expect(await never.wait(atMost: .seconds(60)))
    }
}
