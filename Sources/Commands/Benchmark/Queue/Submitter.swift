import CoordinatorClient
import Model

/// Submits work as a client of the API does, and resolves its titles as a worker does.
struct Submitter: Sendable {
    let client: CoordinatorClient
    let worker: WorkerID
    /// Requests with segments that are under way at a time.
    let clients: Int

    struct Submitted: Sendable {
        var queue: String
        /// From the first request to the last answer, after which every job can be claimed.
        var seconds: Double
    }

    /// Returns when every segment is durable as a job.
    func submit(_ work: BenchmarkWork) async throws -> Submitted {
        let start = ContinuousClock.now
        let (queue, titles) = try await open(work)
        defer { titles?.close() }
        try await titles?.resolve(0..<work.assets, clients: clients)
        return Submitted(queue: queue, seconds: start.duration(to: .now).inSeconds)
    }

    /// Submits the assets alone: files wait as jobs then, titles are leased here and resolved when
    /// the caller says so.
    func open(_ work: BenchmarkWork) async throws -> (queue: String, titles: OpenTitles?) {
        let handle = try await client.openCatalog(
            CatalogSubmission(name: work.catalog, storageURL: work.storageURL))
        try await sendAssets(work, to: handle)
        try await client.start(handle.id, CatalogStart(generation: handle.generation))
        guard !work.isFiles else { return (handle.queue, nil) }
        return (handle.queue, try await OpenTitles.lease(work, handle.queue, client, worker))
    }

    /// Batches one after the other, the next one made while one is on its way.
    private func sendAssets(_ work: BenchmarkWork, to handle: CatalogHandle) async throws {
        var sending: Task<Void, any Error>?
        for first in stride(from: 0, to: work.assets, by: WireLimits.assetsPerRequest) {
            let range = first..<min(first + WireLimits.assetsPerRequest, work.assets)
            let batch = AssetBatch(
                generation: handle.generation, assets: range.map { work.asset($0) })
            try await sending?.value
            sending = Task { [client] in try await client.submit(batch, to: handle.id) }
        }
        try await sending?.value
    }
}

/// Titles that are leased and whose segments may not be submitted yet; the leases are extended until
/// `close`. Safe to use from any task.
final class OpenTitles: Sendable {
    private struct Title: Sendable {
        var job: JobID
        var lease: LeaseID
        var index: Int
    }

    private let work: BenchmarkWork
    private let client: CoordinatorClient
    private let worker: WorkerID
    private let titles: [Title]
    private let beating: Task<Void, Never>

    /// Leases every title before the first one is reported, for with that its segments come into
    /// the same queue.
    static func lease(
        _ work: BenchmarkWork, _ queue: String, _ client: CoordinatorClient, _ worker: WorkerID
    ) async throws -> OpenTitles {
        var titles: [Title] = []
        var leases: [LeaseID] = []
        while titles.count < work.assets {
            let grant = try await client.lease(
                LeaseRequest(
                    worker: worker, queues: [queue], maxJobs: WireLimits.jobsPerLease,
                    waitMilliseconds: 1_000))
            guard let lease = grant.lease else {
                throw Failure(
                    "worker.internal",
                    "\(titles.count) of \(work.assets) titles could be leased")
            }
            leases.append(lease)
            for job in grant.jobs {
                guard job.kind == .resolve, let index = work.index(ofTitleAt: job.url) else {
                    throw Failure("worker.internal", "a job was leased that is not a title's")
                }
                titles.append(Title(job: job.id, lease: lease, index: index))
            }
        }
        titles.sort { $0.index < $1.index }
        return OpenTitles(work, titles, leases, client, worker)
    }

    private init(
        _ work: BenchmarkWork, _ titles: [Title], _ leases: [LeaseID], _ client: CoordinatorClient,
        _ worker: WorkerID
    ) {
        self.work = work
        self.titles = titles
        self.client = client
        self.worker = worker
        beating = Task {
            while (try? await Task.sleep(for: .seconds(5))) != nil {
                _ = try? await client.heartbeat(
                    Heartbeat(
                        worker: worker, leases: leases, progress: [:], name: "benchmark",
                        activeTransfers: 0))
            }
        }
    }

    deinit { beating.cancel() }

    func close() { beating.cancel() }

    /// Submits the segments of some titles, each once, `clients` at a time.
    func resolve(_ range: Range<Int>, clients: Int) async throws {
        let chosen = Shared(Array(titles[range]))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<clients {
                group.addTask {
                    while let title = chosen.next() { try await self.resolve(title) }
                }
            }
            try await group.waitForAll()
        }
    }

    private func resolve(_ title: Title) async throws {
        let count = work.segmentCount(of: title.index)
        for first in stride(from: 0, to: count, by: WireLimits.segmentsPerRequest) {
            let range = first..<min(first + WireLimits.segmentsPerRequest, count)
            let answer = try await client.segments(
                SegmentBatch(
                    worker: worker, job: title.job, lease: title.lease,
                    segments: work.segments(of: title.index, range)))
            try expectAccepted([answer.verdict])
        }
        var report = JobReport(job: title.job, lease: title.lease, outcome: .done)
        report.segments = count
        let answer = try await client.report(ReportRequest(worker: worker, results: [report]))
        try expectAccepted(answer.answers)
    }
}

/// Nobody else is there to take a lease away.
func expectAccepted(_ verdicts: [ReportAnswer.Verdict]) throws(Failure) {
    guard verdicts.allSatisfy({ $0 == .accepted }) else {
        throw Failure("worker.internal", "a report was not accepted")
    }
}
