import Model
import Postgres
import Rendering

/// Compares throughput with and without an open transaction, alternating over two databases of one
/// server: a transaction blocks cleanup only in its own database.
struct IdleTransactionBenchmark: Sendable {
    let cluster: BenchmarkCluster
    let options: BenchmarkOptions
    let note: @Sendable (String) -> Void

    func run() async throws -> IdleTransactionReport {
        let without = try await cluster.addDatabase(named: "without_transaction")
        let with = try await cluster.addDatabase(named: "with_transaction")
        // Its snapshot is taken now, and it has no transaction id: it does not hold back the other
        // database's horizon.
        let idle = try await cluster.connect(with.url)
        try await idle.simple("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM queue")
        note("submitting \(options.segments) segments to each of two databases")
        var loads: [APILoad] = []
        for database in [without, with] {
            try await database.fillFinished(options.finished, as: "finished", options)
            let work = BenchmarkWork(
                name: "work", segments: options.segments,
                segmentsPerTitle: options.segmentsPerTitle, origins: options.origins)
            let submitted = try await database.submit(work, clients: options.clients)
            try await database.tables.settle()
            loads.append(database.load(submitted.queue, options))
        }
        var report = IdleTransactionReport(options)
        let warmUp = max(options.segments / 20, 1)
        for load in loads { _ = try await load.work(off: warmUp) }
        let ofRound = (options.segments - warmUp) / options.rounds
        for round in 1...options.rounds {
            var rates = [0.0, 0.0]
            for side in round % 2 == 1 ? [0, 1] : [1, 0] {
                rates[side] = try await loads[side].work(off: ofRound).perSecond
            }
            report.rounds.append(.init(without: rates[0], with: rates[1]))
            note("round \(round) of \(options.rounds): \(report.rounds[round - 1].text)")
        }
        // Fails if the server ended the transaction meanwhile.
        try await idle.simple("SELECT count(*) FROM queue; COMMIT")
        let done = warmUp + ofRound * options.rounds
        for database in [without, with] {
            try await database.expect(
                waiting: options.segments - done, done: options.finished + done)
        }
        await cluster.stopCoordinators()
        report.tables = try await with.tables.used()
        report.fill()
        return report
    }
}

/// The result of `IdleTransactionBenchmark`.
struct IdleTransactionReport: BenchmarkReport {
    let mode = "idleTransaction"
    var setting: BenchmarkSetting
    /// Median rate of the rounds through the API, as is `withIdleTransactionPerSecond`.
    var apiPerSecond = 0
    var withIdleTransactionPerSecond = 0
    /// Ratio of these medians.
    var ratio = 0.0
    var rounds: [Round] = []
    /// Number of dead rows in all tables with the open transaction.
    var deadRows = 0
    var tables: [TableUsage] = []

    struct Round: Encodable, Sendable {
        var apiPerSecond: Int
        var withIdleTransactionPerSecond: Int
        var ratio: Double

        init(without: Double, with: Double) {
            apiPerSecond = without.wholeNumber
            withIdleTransactionPerSecond = with.wholeNumber
            ratio = without > 0 ? (with / without).rounded(places: 3) : 0
        }

        var text: String {
            "\(HumanFormat.count(apiPerSecond))/s without, "
                + "\(HumanFormat.count(withIdleTransactionPerSecond))/s with"
        }
    }

    init(_ options: BenchmarkOptions) { setting = BenchmarkSetting(options) }

    mutating func fill() {
        func median(_ field: KeyPath<Round, Int>) -> Double {
            var samples = Samples()
            for round in rounds { samples.add(Double(round[keyPath: field])) }
            return samples.median
        }
        let without = median(\.apiPerSecond)
        let with = median(\.withIdleTransactionPerSecond)
        apiPerSecond = without.wholeNumber
        withIdleTransactionPerSecond = with.wholeNumber
        ratio = without > 0 ? (with / without).rounded(places: 3) : 0
        deadRows = tables.reduce(0) { $0 + $1.deadRows }
    }

    var text: String {
        func row(_ name: String, _ without: Int, _ with: Int, _ ratio: Double) -> [String] {
            [
                name, HumanFormat.count(without), HumanFormat.count(with),
                HumanFormat.fixed(ratio, places: 2),
            ]
        }
        let rows = rounds.enumerated().map { index, round in
            row(
                "\(index + 1)", round.apiPerSecond, round.withIdleTransactionPerSecond,
                round.ratio)
        }
        return "\(HumanFormat.count(setting.segments)) segments a side: \(setting.text)\n\n"
            + TextLayout.table(
                headings: ["Round", "Without/s", "With/s", "Ratio"],
                alignments: [.left, .right, .right, .right],
                rows: rows + [row("median", apiPerSecond, withIdleTransactionPerSecond, ratio)])
            + "\nDead rows beside the transaction: \(HumanFormat.count(deadRows))\n\n"
            + TableUsage.text(tables)
    }
}
