import API
import CoordinatorClient
import EventLoop
import LoadModel
import Model
import Services
import Synchronization
import Transfer

/// Runs a worker's shards of load tests. During a test the worker leases no jobs, so that nothing
/// else uses the machine. Safe from any thread.
final class LoadTestWorker: Sendable {
    private let worker: WorkerIdentity
    private let client: CoordinatorClient
    /// Sends the load.
    private let runner: any LoadShardRunner
    private let engine: TransferEngine
    private let held: HeldWork
    private let pace: LeasePace
    private let draining: ShutdownSignal
    private let log: Logger
    private let memory = Mutex(LoadTestMemory())

    init(
        worker: WorkerIdentity, client: CoordinatorClient, runner: any LoadShardRunner,
        engine: TransferEngine, held: HeldWork, pace: LeasePace, draining: ShutdownSignal,
        log: Logger
    ) {
        self.worker = worker
        self.client = client
        self.runner = runner
        self.engine = engine
        self.held = held
        self.pace = pace
        self.draining = draining
        self.log = log
    }

    /// Time between retries of a report.
    private static let tick = Duration.milliseconds(200)

    /// Records tests that need workers; the lease loop joins them next.
    func take(_ calls: [LoadTestCall]?) {
        guard let calls else { return }
        memory.withLock { $0.note(calls, queues: worker.queues) }
        pace.wake()
    }

    /// Returns the test to join next, once.
    func next() -> LoadTestCall? { memory.withLock { $0.next() } }

    /// Tests that this worker joined or that needed no more workers.
    var past: [LoadTestID] { memory.withLock { $0.past } }

    /// Takes part in a test, from joining it to the last report. Cancelling the task stops the
    /// load; results so far are reported all the same.
    func takePart(in call: LoadTestCall) async {
        let id = call.id
        let assignment: LoadTestAssignment
        do {
            assignment = try await client.join(
                id, LoadTestJoin(worker: worker.id, name: worker.name), retrySeconds: 5)
        } catch {
            return log.warning("a load test was not joined", ["test": id, "error": "\(error)"])
        }
        guard let scenario = assignment.scenario else { return }
        log.info("load test joined", ["test": id])
        let part = LoadPart()
        let playing = Task { await self.play(part, scenario, assignment, of: id) }
        let reporting = Task { await self.report(part, of: id) }
        let watching = Task { await self.watch(part) }
        await withTaskCancellationHandler {
            await playing.value
            await reporting.value
        } onCancel: {
            part.stop(Failure(.workerCancelled, "Its worker was stopped."))
        }
        watching.cancel()
        log.info("load test finished on this worker", ["test": id])
    }

    private func play(
        _ part: LoadPart, _ scenario: String, _ assignment: LoadTestAssignment, of id: LoadTestID
    ) async {
        do {
            let urls = try await urls(assignment.urlBlocks, of: id, part)
            let preparing = Task { try await runner.prepare(scenario, urls: urls) }
            part.onStop { preparing.cancel() }
            let shard = try await preparing.value
            part.onStop { shard.stop() }
            await finishJobs(part)
            part.becomeReady(cores: shard.cores) { shard.change($0) }
            guard let start = await part.waitForStart() else { return }
            if let parts = assignment.parts {
                try await fetch(parts, of: id, for: shard, start.shard, part)
            }
            part.finish(
                try await shard.run(start.shard, startNanoseconds: start.nanoseconds) {
                    part.add($0)
                })
        } catch let failure as Failure {
            part.fail(failure)
        } catch {
            part.fail(Failure(.workerInternal, "\(error)"))
        }
    }

    /// Fetches the URLs of a replay; returns nil for other tests.
    private func urls(
        _ blocks: Int?, of id: LoadTestID, _ part: LoadPart
    ) async throws(Failure) -> String? {
        guard let blocks else { return nil }
        var urls = ""
        var next = 0
        while next < blocks, !part.isOver {
            let block = try await client.loadParts(
                LoadTestPartsRequest(worker: worker.id, from: next, urls: true), of: id,
                retrySeconds: WireLimits.loadSilentSeconds
            ).parts.first
            guard let block, block.number == next,
                urls.utf8.count + block.data.utf8.count <= WireLimits.loadURLBytes
            else { throw Self.incomplete }
            urls += block.data + "\n"
            next += 1
        }
        if part.isOver { throw Failure(.workerCancelled, "The load test was stopped.") }
        return urls
    }

    /// Fetches the shard's parts of the test's data, until the test is stopped.
    private func fetch(
        _ parts: Int, of id: LoadTestID, for shard: any PreparedLoadShard, _ own: LoadShard,
        _ part: LoadPart
    ) async throws {
        guard (1...WireLimits.loadParts).contains(parts) else { throw Self.incomplete }
        let numbers = LoadParts.numbers(of: own, parts: parts)
        var bytes = 0
        var index = 0
        while index < numbers.count, !part.isOver {
            let page = try await client.loadParts(
                LoadTestPartsRequest(worker: worker.id, from: numbers[index]), of: id,
                retrySeconds: WireLimits.loadSilentSeconds
            ).parts
            guard !page.isEmpty else { throw Self.incomplete }
            for one in page {
                bytes += one.data.utf8.count
                guard index < numbers.count, one.number == numbers[index],
                    bytes <= WireLimits.loadDataBytes
                else { throw Self.incomplete }
                try shard.add(one.data, of: numbers.count)
                index += 1
            }
        }
    }

    private static let incomplete = Failure(
        .clusterProtocol, "The coordinator sent other parts of the test's data than it has.")

    /// Returns jobs that have not started, and waits for the rest.
    private func finishJobs(_ part: LoadPart) async {
        while !held.isEmpty, !part.isOver {
            engine.cancelUnbegun(held.queuedTransfers())
            await held.waitUntil(.isEmpty, atMost: .milliseconds(100))
        }
    }

    /// Stops a load that no coordinator can stop any more.
    private func watch(_ part: LoadPart) async {
        let seconds = WireLimits.loadSilentSeconds
        guard await part.waitForSilence(of: .seconds(seconds)), !part.isReported else { return }
        part.stop(
            Failure(
                .clusterCoordinatorUnreachable,
                "No coordinator answered for \(Int(seconds)) s; it stopped."))
    }

    // MARK: Reporting

    /// Seconds for which the last report is retried if coordinators do not answer.
    private var lastReportSeconds: Double { draining.isDraining ? 15 : 60 }

    private func report(_ part: LoadPart, of id: LoadTestID) async {
        var known: LoadTestOrder.Kind?
        while !part.isReported {
            var report = part.report(of: worker.id)
            report.known = known
            report.waitMilliseconds = Self.waitMilliseconds(known, report)
            do {
                let order = try await client.report(report, of: id, retrySeconds: 0)
                let answeredAt = MonotonicClock.nowNanoseconds
                part.acknowledge(report)
                known = order.kind
                await obey(order, answeredAt, part, of: id)
            } catch {
                log.debug("a shard of a load test was not reported", ["error": "\(error)"])
                // A coordinator rejects it, or none answers.
                guard error.code.row.retry != .never, part.silentSeconds < lastReportSeconds
                else {
                    log.warning("load test left", ["test": id, "error": "\(error)"])
                    return part.leave()
                }
                try? await Task.sleep(for: Self.tick)
            }
        }
    }

    /// Returns how long the coordinator may hold a report while its order does not change.
    private static func waitMilliseconds(
        _ known: LoadTestOrder.Kind?, _ report: LoadTestReport
    ) -> Int {
        switch (known, report.progress) {
        case (nil, _), (_, .finished), (_, .failed): 0
        case (.run, _): 1_000
        case (.wait, _): 500
        case (_, _): 100
        }
    }

    private func obey(
        _ order: LoadTestOrder, _ answeredAt: UInt64, _ part: LoadPart, of id: LoadTestID
    ) async {
        switch order.kind {
        case .wait: break
        case .stop: part.stop()
        case .leave:
            // This order also answers the very last report.
            if !part.isReported { log.warning("load test continues without it", ["test": id]) }
            part.leave()
        case .run:
            part.take(order.changes ?? [])
            guard !part.hasStart, let number = order.shard, let count = order.shards,
                let seconds = order.startsInSeconds, seconds.isFinite, (0..<count).contains(number)
            else { return }
            let start = await startTime(answeredAt, seconds, part, of: id)
            part.begin(
                LoadPart.Start(
                    shard: LoadShard(index: number, count: count), nanoseconds: start))
        }
    }

    /// Returns the start on this machine's clock. On a slow connection it sends fewer requests:
    /// none may be pending when the load starts.
    private func startTime(
        _ answeredAt: UInt64, _ seconds: Double, _ part: LoadPart, of id: LoadTestID
    ) async -> UInt64 {
        var reading = StartReading(answeredAt: answeredAt, seconds: seconds)
        while !part.isOver, reading.mayAsk(at: MonotonicClock.nowNanoseconds) {
            let askedAt = MonotonicClock.nowNanoseconds
            let order = try? await client.report(
                LoadTestReport(worker: worker.id, progress: .ready), of: id, retrySeconds: 0)
            guard let seconds = order?.startsInSeconds, seconds.isFinite else { break }
            reading.add(
                askedAt: askedAt, answeredAt: MonotonicClock.nowNanoseconds, seconds: seconds)
        }
        return reading.start
    }
}
