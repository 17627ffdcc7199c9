import API
import CoordinatorClient
import Model
import Postgres
import Synchronization

/// The result of one round.
struct LoadResult: Sendable {
    /// Number of segments claimed and durably done.
    var segments = 0
    /// Seconds from the first claim to the last acknowledgement.
    var seconds = 0.0
    /// Seconds of each claim, as its caller measures them.
    var claims = Samples()

    var perSecond: Double { seconds > 0 ? Double(segments) / seconds : 0 }
}

/// Completes segments with several concurrent clients, each claiming batches and completing them.
protocol Load: Sendable {
    /// Jobs that a client has claimed.
    associatedtype Claim: Sendable

    var clients: Int { get }

    /// Number of jobs claimed at a time.
    var batch: Int { get }

    /// True if a client claims its next jobs during the completion of the previous ones.
    var claimsAhead: Bool { get }

    /// Claims up to `most` jobs; nil if there are none. Adds the time to `times`.
    func claim(
        _ most: Int, client: Int, _ times: inout Samples
    ) async throws -> (claim: Claim, segments: Int)?

    /// Completes a claim; throws if some jobs were not completed.
    func complete(_ claim: Claim, client: Int) async throws
}

extension Load {
    /// Completes `segments`; throws if the queue becomes empty before.
    func work(off segments: Int) async throws -> LoadResult {
        let left = Budget(segments)
        let start = ContinuousClock.now
        var total = try await withThrowingTaskGroup(of: LoadResult.self) { group in
            for client in 0..<clients {
                group.addTask { try await work(off: left, client: client) }
            }
            return try await group.reduce(into: LoadResult()) { sum, one in
                sum.segments += one.segments
                sum.claims.add(one.claims)
            }
        }
        total.seconds = start.duration(to: .now).inSeconds
        guard total.segments == segments else {
            throw Failure(
                .workerInternal,
                "the queue is empty: \(total.segments) of \(segments) segments existed")
        }
        return total
    }

    private func work(off left: Budget, client: Int) async throws -> LoadResult {
        try await withThrowingTaskGroup(of: Void.self) { completing in
            var own = LoadResult()
            while let most = left.take(batch) {
                try Task.checkCancellation()
                let claimed = try await claim(most, client: client, &own.claims)
                left.giveBack(most - (claimed?.segments ?? 0))
                guard let claimed else { break }
                own.segments += claimed.segments
                // One at a time: the previous completion ends before the next starts.
                try await completing.next()
                completing.addTask { try await complete(claimed.claim, client: client) }
                if !claimsAhead { try await completing.next() }
            }
            try await completing.waitForAll()
            return own
        }
    }
}

/// Number of segments that all clients together must still claim.
private final class Budget: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) { left = Mutex(count) }

    /// Takes up to `most`; nil if nothing is left.
    func take(_ most: Int) -> Int? {
        left.withLock { left in
            let taken = min(most, left)
            left -= taken
            return taken > 0 ? taken : nil
        }
    }

    func giveBack(_ count: Int) { left.withLock { $0 += count } }
}

/// The bare-SQL ceiling: dedicated connections, no HTTP, no JSON, no unnecessary columns.
struct CeilingLoad: Load {
    let connections: [PostgresConnection]
    /// Lanes of the queue. Each client starts at a different one, and moves to the next if it is
    /// empty.
    let lanes: [Int64]
    let batch: Int
    /// A second connection per client for completions during a claim; empty for one connection per
    /// client.
    let completing: [PostgresConnection]

    var clients: Int { connections.count }
    var claimsAhead: Bool { !completing.isEmpty }

    func claim(
        _ most: Int, client: Int, _ times: inout Samples
    ) async throws -> (claim: BenchmarkTables.Claim, segments: Int)? {
        for step in lanes.indices {
            let lane = lanes[(client + step) % lanes.count]
            let start = ContinuousClock.now
            let claim = try await BenchmarkTables.claim(
                most, of: lane, on: connections[client], waitsForDisk: !claimsAhead)
            times.add(start.duration(to: .now).inSeconds)
            if !claim.jobs.isEmpty { return (claim, claim.jobs.count) }
        }
        return nil
    }

    func complete(_ claim: BenchmarkTables.Claim, client: Int) async throws {
        let connection = claimsAhead ? completing[client] : connections[client]
        let count = try await BenchmarkTables.complete(claim, on: connection)
        guard count == claim.jobs.count else {
            throw Failure(.workerInternal, "the ceiling's claims overlap")
        }
    }
}

/// The whole path: leases and reports through a coordinator's HTTP API, like a worker.
struct APILoad: Load {
    let client: CoordinatorClient
    let queue: String
    let batch: Int
    /// One worker per client.
    let workers: [WorkerID]

    var clients: Int { workers.count }
    var claimsAhead: Bool { true }

    struct Claim: Sendable {
        var lease: LeaseID
        var jobs: [Job]
    }

    init(client: CoordinatorClient, queue: String, batch: Int, clients: Int) {
        self.client = client
        self.queue = queue
        self.batch = batch
        workers = (0..<clients).map { _ in .random() }
    }

    /// Claims jobs. Jobs for checksum files are completed too, but do not count as segments.
    func claim(
        _ most: Int, client number: Int, _ times: inout Samples
    ) async throws -> (claim: Claim, segments: Int)? {
        let start = ContinuousClock.now
        let grant = try await client.lease(
            LeaseRequest(
                worker: workers[number], queues: [queue], maxJobs: most, waitMilliseconds: 0))
        times.add(start.duration(to: .now).inSeconds)
        guard let lease = grant.lease else { return nil }
        let segments = grant.jobs.count { $0.kind == .fetch }
        return (Claim(lease: lease, jobs: grant.jobs), segments)
    }

    func complete(_ claim: Claim, client number: Int) async throws {
        let request = ReportRequest(
            worker: workers[number], results: claim.jobs.map { Self.report($0, claim.lease) })
        try expectAccepted(try await client.report(request).answers)
    }

    static func report(_ job: Job, _ lease: LeaseID) -> JobReport {
        var done = JobReport.Done()
        if job.kind == .fetch {
            done.stored = StoredObject(
                bytes: Int64(BenchmarkWork.segmentBytes),
                sha256: BenchmarkWork.digest(of: job.id.rawValue))
            done.milliseconds = 40
        }
        return JobReport(job: job.id, lease: lease, outcome: .done(done))
    }
}
