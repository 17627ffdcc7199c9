import Model
import Postgres

/// Compares the bare-SQL ceiling with the whole path through the HTTP API, alternating over one
/// database.
struct ThroughputBenchmark: Sendable {
    let cluster: BenchmarkCluster
    let options: BenchmarkOptions
    let note: @Sendable (String) -> Void

    /// Sums of one side's figures over the rounds.
    private struct Side {
        var rates = Samples()
        var claims = Samples()
        var segments = 0
        var walBytes: Int64 = 0
        var cpu = CPUTimes()

        func perSegment(_ value: Double) -> Double { segments > 0 ? value / Double(segments) : 0 }
    }

    func run() async throws -> ThroughputReport {
        let database = try await cluster.addDatabase(named: "throughput")
        try await database.fillFinished(options.finished, as: "finished", options)
        var report = ThroughputReport(options)
        let (ceiling, api) = try await loads(database, &report)
        try await database.tables.settle()
        var sides = (ceiling: Side(), api: Side())
        let share = options.segments / 2
        let warmUp = max(share / 20, 1)
        _ = try await ceiling.work(off: warmUp)
        _ = try await api.work(off: warmUp)
        let ofRound = (share - warmUp) / options.rounds
        for round in 1...options.rounds {
            // Both sides start equally often.
            for isCeiling in [round % 2 == 1, round % 2 == 0] {
                if isCeiling {
                    try await measure(ceiling, ofRound, database, &sides.ceiling)
                } else {
                    try await measure(api, ofRound, database, &sides.api)
                }
            }
            report.databaseConnections = max(
                report.databaseConnections, try await database.tables.connections())
            let rates = (sides.ceiling.rates.values.last ?? 0, sides.api.rates.values.last ?? 0)
            report.rounds.append(.init(ceiling: rates.0, api: rates.1))
            note("round \(round) of \(options.rounds): \(report.rounds[round - 1].text)")
        }
        let done = 2 * (warmUp + ofRound * options.rounds)
        try await database.expect(
            waiting: options.segments - options.segments % 2 - done, done: options.finished + done)
        fill(&report, sides.ceiling, sides.api)
        report.coordinatorResidentBytes = ProcessUsage.peakResidentBytes(
            of: database.coordinator.pid)
        await cluster.stopCoordinators()
        report.tables = try await database.tables.used()
        return report
    }

    /// Submits half of the segments for each side, to its own queue.
    private func loads(
        _ database: BenchmarkDatabase, _ report: inout ThroughputReport
    ) async throws -> (CeilingLoad, APILoad) {
        let share = options.segments / 2
        note("submitting \(2 * share) segments")
        let wal = try await database.tables.walBytes()
        var queues: [String] = []
        var seconds = 0.0
        for name in ["ceiling", "api"] {
            let work = BenchmarkWork(
                name: name, segments: share, segmentsPerTitle: options.segmentsPerTitle,
                origins: options.origins)
            let submitted = try await database.submit(work, clients: options.clients)
            queues.append(submitted.queue)
            seconds += submitted.seconds
        }
        let written = try await database.tables.walBytes() - wal
        report.submitPerSecond = (Double(2 * share) / seconds).wholeNumber
        report.submitWALBytesPerSegment = (Double(written) / Double(2 * share)).rounded(places: 1)
        report.submitCoordinatorResidentBytes = ProcessUsage.peakResidentBytes(
            of: database.coordinator.pid)
        note("submitted \(report.submitPerSecond) segments a second")
        var connections: [PostgresConnection] = []
        var completing: [PostgresConnection] = []
        for _ in 0..<options.clients {
            connections.append(try await cluster.connect(database.url))
            guard options.ceilingHasAll else { continue }
            completing.append(try await cluster.connect(database.url))
        }
        let lanes = try await database.tables.lanes(of: queues[0])
        return (
            CeilingLoad(
                connections: connections, lanes: lanes, batch: options.batch,
                completing: completing),
            database.load(queues[1], options)
        )
    }

    private func measure(
        _ load: some Load, _ segments: Int, _ database: BenchmarkDatabase, _ side: inout Side
    ) async throws {
        let cpu = cluster.cpuTimes(of: database.coordinator)
        let wal = try await database.tables.walBytes()
        let result = try await load.work(off: segments)
        side.walBytes += try await database.tables.walBytes() - wal
        side.cpu += cluster.cpuTimes(of: database.coordinator) - cpu
        side.rates.add(result.perSecond)
        side.claims.add(result.claims)
        side.segments += result.segments
    }

    private func fill(_ report: inout ThroughputReport, _ ceiling: Side, _ api: Side) {
        report.ceilingPerSecond = ceiling.rates.median.wholeNumber
        report.apiPerSecond = api.rates.median.wholeNumber
        // Per round, whose two halves ran under the same conditions.
        var ratios = Samples()
        for (api, ceiling) in zip(api.rates.values, ceiling.rates.values) {
            ratios.add(api / ceiling)
        }
        report.ratio = ratios.median.rounded(places: 3)
        report.claimP50Milliseconds = (api.claims.quantile(0.5) * 1_000).rounded(places: 2)
        report.claimP99Milliseconds = (api.claims.quantile(0.99) * 1_000).rounded(places: 2)
        report.ceilingClaimP50Milliseconds =
            (ceiling.claims.quantile(0.5) * 1_000).rounded(places: 2)
        report.ceilingClaimP99Milliseconds =
            (ceiling.claims.quantile(0.99) * 1_000).rounded(places: 2)
        report.walBytesPerSegment = api.perSegment(Double(api.walBytes)).rounded(places: 1)
        report.ceilingWALBytesPerSegment =
            ceiling.perSegment(Double(ceiling.walBytes)).rounded(places: 1)
        report.cpuMicrosecondsPerSegment = .init(api.cpu, segments: api.segments)
        report.ceilingCPUMicrosecondsPerSegment = .init(ceiling.cpu, segments: ceiling.segments)
    }
}
