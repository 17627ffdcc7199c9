package import TLS

/// The options of `dray benchmark queue`.
package struct BenchmarkOptions: Sendable {
    package enum Mode: Sendable, Equatable {
        /// Compares the bare-SQL ceiling with the whole path through the HTTP API.
        case throughput
        /// Compares claims among this many waiting jobs with claims among `fewWaiting`.
        case waiting(Int)
        /// Compares throughput with and without an open transaction.
        case idleTransaction
        /// Measures the time until an idle worker has a new job, this many times.
        case wakeUps(Int)
        /// Measures the cost of idle workers.
        case idle
        /// Runs a command and bare SQL at the same time.
        case beside(String)
    }

    package var mode: Mode
    /// Number of segments to submit and complete.
    package var segments: Int
    /// Number of segments per title; 1 makes every segment a file asset.
    package var segmentsPerTitle: Int
    /// Number of origin hosts; each title has one.
    package var origins: Int
    /// Number of connections to PostgreSQL, and of concurrent requests to the coordinator.
    package var clients: Int
    /// Number of jobs that are claimed and completed at a time.
    package var batch: Int
    package var rounds: Int
    /// Number of segments already done before the measurement.
    package var finished: Int
    /// Number of idle workers that hold a lease request open.
    package var idleWorkers: Int
    /// Seconds for which idle workers are measured.
    package var seconds: Int
    /// True if bare SQL claims without waiting for the disk, and during its last completion, like
    /// the API.
    package var ceilingHasAll = false
    /// The coordinators' certificate, which clients trust, and its key; nil for plain HTTP.
    package var tls: TLSServerFiles?

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

    /// Number of waiting jobs on the other side of `Mode.waiting`.
    package static let fewWaiting = 10_000
    /// Number of claims per side and round of `Mode.waiting`: few, so that the few waiting jobs
    /// stay few.
    static let claimsPerRound = 50
    /// Default number of rounds of `Mode.waiting`: 2,000 claims per side.
    package static let claimRounds = 40

    /// Estimated size of the databases in bytes, to check the free space.
    var expectedBytes: Int64 {
        let waiting = if case .waiting(let count) = mode { count } else { 0 }
        let copies = mode == .idleTransaction ? 2 : 1
        let rows = waiting + finished + segments * copies
        return 2 << 30 + Int64(rows) * 1_000
    }
}
