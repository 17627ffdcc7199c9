import CoordinatorClient
import FoundationEssentials
import Model
import Postgres
import Synchronization

/// What one round of work came to.
struct LoadResult: Sendable {
    /// Segments claimed and durably done.
    var segments = 0
    /// From the first claim to the last acknowledgement.
    var seconds = 0.0
    /// How long each claim took, in seconds; as its caller sees it.
    var claims = Samples()

    var perSecond: Double { seconds > 0 ? Double(segments) / seconds : 0 }
}

/// Works segments off with a number of clients at once, each claiming a batch and completing it.
protocol Load: Sendable {
    var clients: Int { get }

    /// Jobs claimed at a time.
    var batch: Int { get }

    /// Claims up to `most` jobs and completes them; 0 segments when there was nothing to claim.
    func claimAndComplete(_ most: Int, client: Int) async throws -> LoadResult
}

extension Load {
    /// Works off `segments`; throws when the queue runs dry before.
    func work(off segments: Int) async throws -> LoadResult {
        let left = Budget(segments)
        let start = ContinuousClock.now
        var total = try await withThrowingTaskGroup(of: LoadResult.self) { group in
            for client in 0..<clients {
                group.addTask {
                    var own = LoadResult()
                    while let most = left.take(batch) {
                        try Task.checkCancellation()
                        let one = try await claimAndComplete(most, client: client)
                        own.claims.add(one.claims)
                        own.segments += one.segments
                        left.giveBack(most - one.segments)
                        guard one.segments > 0 else { break }
                    }
                    return own
                }
            }
            return try await group.reduce(into: LoadResult()) { sum, one in
                sum.segments += one.segments
                sum.claims.add(one.claims)
            }
        }
        total.seconds = start.duration(to: .now).inSeconds
        guard total.segments == segments else {
            throw Failure(
                "worker.internal",
                "the queue ran dry: \(total.segments) of \(segments) segments were there")
        }
        return total
    }
}

/// How much is still to be claimed by all clients together.
private final class Budget: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) { left = Mutex(count) }

    /// Up to `most` of it; nil when nothing is left.
    func take(_ most: Int) -> Int? {
        left.withLock { left in
            let taken = min(most, left)
            left -= taken
            return taken > 0 ? taken : nil
        }
    }

    func giveBack(_ count: Int) { left.withLock { $0 += count } }
}

/// The bare-SQL ceiling: connections of their own, no HTTP, no JSON, no more columns than it needs.
struct CeilingLoad: Load {
    let connections: [PostgresConnection]
    /// Those of the queue; each client begins at another one, and goes on to the next one when it is
    /// empty.
    let lanes: [Int64]
    let batch: Int

    var clients: Int { connections.count }

    func claimAndComplete(_ most: Int, client: Int) async throws -> LoadResult {
        var result = LoadResult()
        for step in lanes.indices {
            let lane = lanes[(client + step) % lanes.count]
            let start = ContinuousClock.now
            let claim = try await BenchmarkTables.claim(most, of: lane, on: connections[client])
            result.claims.add(start.duration(to: .now).inSeconds)
            guard !claim.jobs.isEmpty else { continue }
            result.segments = try await BenchmarkTables.complete(claim, on: connections[client])
            guard result.segments == claim.jobs.count else {
                throw Failure("worker.internal", "the ceiling's claims overlap")
            }
            return result
        }
        return result
    }
}

/// The whole path: leases and reports through the HTTP API of a coordinator, as a worker does.
struct APILoad: Load {
    let client: CoordinatorClient
    let queue: String
    let batch: Int
    /// One a client.
    let workers: [WorkerID]

    var clients: Int { workers.count }

    init(client: CoordinatorClient, queue: String, batch: Int, clients: Int) {
        self.client = client
        self.queue = queue
        self.batch = batch
        workers = (0..<clients).map { _ in UUID().uuidString.lowercased() }
    }

    /// Lists of digests are written off without being asked for: their jobs count nothing.
    func claimAndComplete(_ most: Int, client number: Int) async throws -> LoadResult {
        var result = LoadResult()
        while true {
            let start = ContinuousClock.now
            let grant = try await client.lease(
                LeaseRequest(
                    worker: workers[number], queues: [queue], maxJobs: most, waitMilliseconds: 0))
            result.claims.add(start.duration(to: .now).inSeconds)
            guard let lease = grant.lease else { return result }
            let request = ReportRequest(
                worker: workers[number], results: grant.jobs.map { Self.report($0, lease) })
            let answer = try await client.report(request)
            try expectAccepted(answer.answers)
            result.segments = grant.jobs.reduce(0) { $0 + ($1.kind == .fetch ? 1 : 0) }
            if result.segments > 0 { return result }
        }
    }

    static func report(_ job: Job, _ lease: LeaseID) -> JobReport {
        var report = JobReport(job: job.id, lease: lease, outcome: .done)
        if job.kind == .fetch {
            report.stored = StoredObject(
                bytes: Int64(BenchmarkWork.segmentBytes),
                sha256: BenchmarkWork.digest(of: job.id.rawValue))
        }
        return report
    }
}
