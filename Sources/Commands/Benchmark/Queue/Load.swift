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

/// Works segments off with a number of clients at once, each claiming batches and completing them.
protocol Load: Sendable {
    /// Jobs that a client holds.
    associatedtype Claim: Sendable

    var clients: Int { get }

    /// Jobs claimed at a time.
    var batch: Int { get }

    /// A client claims its next jobs while what became of the last ones is on its way.
    var claimsAhead: Bool { get }

    /// Claims up to `most` jobs; nil when there was nothing to claim. `times` gets how long it took.
    func claim(
        _ most: Int, client: Int, _ times: inout Samples
    ) async throws -> (claim: Claim, segments: Int)?

    /// Completes what was claimed; throws when not all of it was.
    func complete(_ claim: Claim, client: Int) async throws
}

extension Load {
    /// Works off `segments`; throws when the queue runs dry before.
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
                "worker.internal",
                "the queue is empty: \(total.segments) of \(segments) segments were there")
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
                // One at a time: the last one's end is waited for before the next begins.
                try await completing.next()
                completing.addTask { try await complete(claimed.claim, client: client) }
                if !claimsAhead { try await completing.next() }
            }
            try await completing.waitForAll()
            return own
        }
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
    /// One more a client, to complete on while the other claims; empty for one connection a client,
    /// which does one thing at a time.
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
            throw Failure("worker.internal", "the ceiling's claims overlap")
        }
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
    var claimsAhead: Bool { true }

    struct Claim: Sendable {
        var lease: LeaseID
        var jobs: [Job]
    }

    init(client: CoordinatorClient, queue: String, batch: Int, clients: Int) {
        self.client = client
        self.queue = queue
        self.batch = batch
        workers = (0..<clients).map { _ in UUID().uuidString.lowercased() }
    }

    /// Lists of digests are written off without being asked for: their jobs count nothing.
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
        var report = JobReport(job: job.id, lease: lease, outcome: .done)
        if job.kind == .fetch {
            report.stored = StoredObject(
                bytes: Int64(BenchmarkWork.segmentBytes),
                sha256: BenchmarkWork.digest(of: job.id.rawValue))
        }
        return report
    }
}
