import Glibc
package import Model
import Services
package import Storage
import Synchronization
package import Transfer

/// Runs `dray benchmark transfer`: the transfer engine alone, from a list of objects to a
/// directory.
///
/// It does everything that a worker does with an object: receive, hash, write, make durable in
/// batches, and rename to the final key. There is no queue, no coordinator and no report. A service
/// for a `ServiceGroup`.
package final class TransferBenchmark: Service {
    package let name = "benchmark"

    package struct Object: Sendable {
        package var url: String
        package var key: String

        package init(url: String, key: String) {
            self.url = url
            self.key = key
        }
    }

    /// The duration of a benchmark.
    package enum Extent: Sendable {
        /// All objects, this many times; one pass ends before the next starts.
        case times(Int)
        /// Repeatedly for this many seconds; then running transfers are cancelled.
        case seconds(Int)
    }

    /// Takes samples of the process regularly.
    package struct Sampling: Sendable {
        package var everySeconds: Double
        package var record: @Sendable (TransferSample) -> Void

        package init(
            everySeconds: Double, record: @escaping @Sendable (TransferSample) -> Void
        ) {
            self.everySeconds = everySeconds
            self.record = record
        }
    }

    private let objects: [Object]
    private let storage: DirectoryStorage
    private let engine: TransferEngine
    private let connections: Int
    private let extent: Extent
    private let sampling: Sampling?
    private let found = Mutex<TransferBenchmarkReport?>(nil)

    /// - Parameter options: options of the engine, which `stop` shuts down.
    package init(
        _ objects: [Object], to storage: DirectoryStorage, options: TransferEngine.Options,
        extent: Extent = .times(1), sampling: Sampling? = nil
    ) throws(Failure) {
        self.objects = objects
        self.storage = storage
        self.extent = extent
        self.sampling = sampling
        connections = options.connections
        engine = try TransferEngine(options: options)
    }

    /// The result; nil if it was interrupted.
    package var report: TransferBenchmarkReport? { found.withLock { $0 } }

    package func run() async throws {
        let commits = TransferCommits(
            storage: storage, window: max(Self.batch, 2 * connections)
        ) { [weak self] range, commits in self?.submit(range, commits) }
        let cpu = ProcessUsage.ownCPUSeconds
        let start = ContinuousClock.now
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.watch(commits, since: start) }
            await withTaskCancellationHandler {
                await self.work(commits, since: start)
            } onCancel: {
                cancel(commits)
            }
            group.cancelAll()
        }
        try Task.checkCancellation()
        let seconds = start.duration(to: .now).inSeconds
        let totals = commits.totals
        found.withLock {
            $0 = TransferBenchmarkReport(
                objects: totals.ended, failed: totals.failed, failure: totals.firstFailure,
                bytes: totals.bytes, connections: connections, seconds: seconds,
                cpuSeconds: ProcessUsage.ownCPUSeconds - cpu,
                peakResidentBytes: ProcessUsage.peakResidentBytes(of: getpid()))
        }
    }

    package func stop() async { engine.shutdown() }

    /// The same as in a lease.
    private static let batch = 1_000
    private static let lease = LeaseID.random()
    private static let group = lease.description

    private func work(
        _ commits: TransferCommits, since start: ContinuousClock.Instant
    ) async {
        guard case .times(let times) = extent else { return await commits.run(nil) }
        for _ in 0..<times {
            await commits.run(objects.count)
            sampling?.record(sample(commits, since: start, isIdle: true))
        }
    }

    private func submit(_ range: Range<Int>, _ commits: TransferCommits) {
        let requests = range.map { index in
            let object = objects[index % objects.count]
            let storage = storage
            return TransferRequest(
                url: object.url, group: Self.group,
                destination: .object { (bytes) throws(Failure) in
                    try storage.createTemporary(
                        lease: Self.lease, job: JobID(Int64(index) + 1), key: object.key,
                        reservingBytes: bytes ?? 0)
                }, role: .file)
        }
        engine.submit(requests) { _, result in commits.add(result) }
    }

    private func cancel(_ commits: TransferCommits) {
        commits.stop()
        engine.cancelAll(group: Self.group)
    }

    /// Takes samples until it is cancelled, and cancels the transfers when the time is over.
    private func watch(_ commits: TransferCommits, since start: ContinuousClock.Instant) async {
        var end: ContinuousClock.Instant?
        if case .seconds(let seconds) = extent { end = start + .seconds(seconds) }
        var next = start
        while sampling != nil || end != nil {
            if let sampling { next += .seconds(sampling.everySeconds) }
            let until = sampling == nil ? end : end.map { min($0, next) } ?? next
            try? await Task.sleep(until: until ?? next, clock: .continuous)
            if Task.isCancelled { return }
            sampling?.record(sample(commits, since: start))
            if let end, end <= .now { return cancel(commits) }
        }
    }

    private func sample(
        _ commits: TransferCommits, since start: ContinuousClock.Instant, isIdle: Bool = false
    ) -> TransferSample {
        TransferSample(
            seconds: start.duration(to: .now).inSeconds.rounded(places: 3),
            ended: commits.totals.ended, isIdle: isIdle,
            open: engine.origins.reduce(0) { $0 + $1.active },
            residentBytes: ProcessUsage.residentBytes(of: getpid()),
            allocatedBytes: AllocatedMemory.bytes,
            descriptors: ProcessUsage.descriptors(of: getpid()),
            threads: ProcessUsage.threads(of: getpid()),
            cpuSeconds: ProcessUsage.ownCPUSeconds.rounded(places: 3))
    }
}

/// Resource usage of the process at one time.
package struct TransferSample: Encodable, Sendable {
    /// Seconds since the first request.
    package var seconds: Double
    /// Number of transfers that have ended.
    package var ended: Int
    /// True if all transfers of a pass have ended and are stored.
    package var isIdle: Bool
    /// Number of running transfers.
    package var open: Int
    package var residentBytes: Int64
    /// Allocated bytes, without freed memory that the allocator keeps.
    package var allocatedBytes: Int64
    package var descriptors: Int
    package var threads: Int
    /// CPU seconds of the process since it started.
    package var cpuSeconds: Double
}
