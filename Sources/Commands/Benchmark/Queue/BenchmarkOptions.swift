/// What `dray benchmark queue` is asked to measure.
package struct BenchmarkOptions: Sendable {
    package enum Mode: Sendable, Equatable {
        /// The bare-SQL ceiling against the whole path through the HTTP API.
        case throughput
        /// Claims among so many waiting jobs against claims among `fewWaiting`.
        case waiting(Int)
        /// Throughput beside a transaction that is left open against throughput without one.
        case idleTransaction
        /// So many times one job for idle workers: how long until one of them has it.
        case wakeUps(Int)
        /// What idle workers cost.
        case idle
        /// A command and bare SQL at the same time.
        case beside(String)
    }

    package var mode: Mode
    /// Submitted and worked off.
    package var segments: Int
    /// Of one title; 1 makes every segment a file asset of its own.
    package var segmentsPerTitle: Int
    /// Hosts that the segments come from, each of a title from one.
    package var origins: Int
    /// Of each kind: connections to PostgreSQL, and requests under way to the coordinator.
    package var clients: Int
    /// Jobs claimed, and completed, at a time.
    package var batch: Int
    package var rounds: Int
    /// Segments that are done already before anything is measured.
    package var finished: Int
    /// Idle workers that hold a request for work open.
    package var idleWorkers: Int
    /// How long idle workers are watched.
    package var seconds: Int
    /// Bare SQL claims without waiting for the disk, and while its last completion is on its way, as
    /// the API does.
    package var ceilingHasAll = false

    package init(mode: Mode = .throughput) {
        self.mode = mode
        segments = Self.defaultSegments
        segmentsPerTitle = Self.defaultSegmentsPerTitle
        origins = Self.defaultOrigins
        clients = Self.defaultClients
        batch = Self.defaultBatch
        rounds = Self.defaultRounds
        finished = 0
        idleWorkers = 0
        seconds = Self.defaultSeconds
    }

    package static let defaultSegments = 500_000
    package static let defaultSegmentsPerTitle = 5_000
    package static let defaultOrigins = 4
    package static let defaultClients = 12
    package static let defaultBatch = 100
    package static let defaultRounds = 9
    package static let defaultSeconds = 30

    /// The waiting jobs of the other side of `Mode.waiting`.
    package static let fewWaiting = 10_000
    /// Claims of each side and round of `Mode.waiting`: few, so that the few waiting stay few.
    static let claimsPerRound = 50
    /// Rounds of `Mode.waiting` when the caller does not say: 2,000 claims a side.
    package static let claimRounds = 40

    /// What the databases come to, in bytes, roughly: for a look at the free space beforehand.
    var expectedBytes: Int64 {
        let waiting = if case .waiting(let count) = mode { count } else { 0 }
        let copies = mode == .idleTransaction ? 2 : 1
        let rows = waiting + finished + segments * copies
        return 2 << 30 + Int64(rows) * 1_000
    }
}
