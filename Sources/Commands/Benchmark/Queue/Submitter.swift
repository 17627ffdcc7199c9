import API
import CoordinatorClient
import Model

/// Submits work like a client of the API, and resolves its titles like a worker.
struct Submitter: Sendable {
    let client: CoordinatorClient
    let worker: WorkerID
    /// Number of concurrent requests with segments.
    let clients: Int

    struct Submitted: Sendable {
        var queue: String
        /// Seconds from the first request to the last answer, after which every job can be claimed.
        var seconds: Double
    }

    /// Submits work; returns when every segment is durable as a job.
    func submit(_ work: BenchmarkWork) async throws -> Submitted {
        let start = ContinuousClock.now
        let (queue, titles) = try await open(work)
        defer { titles?.close() }
        try await titles?.resolve(0..<work.assets, clients: clients)
        return Submitted(queue: queue, seconds: start.duration(to: .now).inSeconds)
    }

    /// Submits only the assets. Files are then waiting jobs; titles are leased here, and resolved
    /// when the caller requests it.
    func open(_ work: BenchmarkWork) async throws -> (queue: String, titles: OpenTitles?) {
        let handle = try await client.openCatalog(
            CatalogSubmission(name: work.catalog, storageURL: work.storageURL))
        try await sendAssets(work, to: handle)
        try await client.start(handle.id, CatalogStartRequest(generation: handle.generation))
        guard !work.isFiles else { return (handle.queue, nil) }
        return (handle.queue, try await OpenTitles.lease(work, handle.queue, client, worker))
    }

    /// Sends batches one after the other, and creates the next one during a request.
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

/// Leased titles whose segments are not all submitted; extends the leases until `close`. Safe from
/// any task.
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

    /// Leases all titles before the first one is reported, because its report adds segments to the
    /// same queue.
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
                    .workerInternal,
                    "\(titles.count) of \(work.assets) titles could be leased")
            }
            leases.append(lease)
            for job in grant.jobs {
                guard case .resolve(let source) = job.task,
                    let index = work.index(ofTitleAt: source.url)
                else {
                    throw Failure(.workerInternal, "a job was leased that is not a title's")
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

    /// Submits the segments of a range of titles, each once, `clients` at a time.
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
        let report = JobReport(
            job: title.job, lease: title.lease, outcome: .done(JobReport.Done(segments: count)))
        let answer = try await client.report(ReportRequest(worker: worker, results: [report]))
        try expectAccepted(answer.answers)
    }
}

/// Throws unless all are accepted: no other worker can take a lease away.
func expectAccepted(_ verdicts: [ReportAnswer.Verdict]) throws(Failure) {
    guard verdicts.allSatisfy({ $0 == .accepted }) else {
        throw Failure(.workerInternal, "a report was not accepted")
    }
}
