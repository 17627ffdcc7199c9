import Model
import Rendering

/// Compares the time of claims among many and among few waiting jobs, alternating over two
/// databases of one server.
///
/// Each side is one catalog of titles, all leased at the start. Those that are the waiting jobs are
/// resolved at once. One more title before each round replaces the jobs that the round completes,
/// so both sides stay equally full.
struct WaitingBenchmark: Sendable {
    let cluster: BenchmarkCluster
    let options: BenchmarkOptions
    let waiting: Int
    let note: @Sendable (String) -> Void

    /// One database; the first `filled` of its titles are resolved before the measurement.
    private struct Side: Sendable {
        let database: BenchmarkDatabase
        let titles: OpenTitles
        let load: APILoad
        let filled: Int
        var claims = Samples()
    }

    /// Number of jobs that a round completes and a title has.
    private var ofRound: Int {
        min(BenchmarkOptions.claimsPerRound * options.batch, BenchmarkOptions.fewWaiting / 2)
    }

    func run() async throws -> WaitingReport {
        note("submitting \(waiting) segments, \(options.finished) of others to be finished first")
        var few = try await side("few", waiting: BenchmarkOptions.fewWaiting, finished: 0)
        var many = try await side("many", waiting: waiting, finished: options.finished)
        defer { for side in [few, many] { side.titles.close() } }
        // The first round warms up and does not count.
        for round in 0...options.rounds {
            for isFew in [round % 2 == 1, round % 2 == 0] {
                if isFew {
                    try await run(round, &few)
                } else {
                    try await run(round, &many)
                }
            }
            if round > 0, round % 10 == 0 { note("round \(round) of \(options.rounds)") }
        }
        let done = ofRound * (options.rounds + 1)
        try await few.database.expect(waiting: few.filled * ofRound, done: done)
        try await many.database.expect(
            waiting: many.filled * ofRound, done: options.finished + done)
        return WaitingReport(options, waiting: waiting, few: few.claims, many: many.claims)
    }

    private func side(_ name: String, waiting: Int, finished: Int) async throws -> Side {
        let database = try await cluster.addDatabase(named: name)
        try await database.fillFinished(finished, as: "finished", options)
        let filled = (waiting + ofRound - 1) / ofRound
        let work = BenchmarkWork(
            name: "waiting", segments: (filled + options.rounds + 1) * ofRound,
            segmentsPerTitle: ofRound, origins: options.origins)
        let (queue, titles) = try await database.submitter(clients: options.clients).open(work)
        guard let titles else { throw Failure(.workerInternal, "a title of one segment") }
        try await titles.resolve(0..<filled, clients: options.clients)
        try await database.tables.settle()
        return Side(
            database: database, titles: titles, load: database.load(queue, options),
            filled: filled)
    }

    private func run(_ round: Int, _ side: inout Side) async throws {
        let next = side.filled + round
        try await side.titles.resolve(next..<(next + 1), clients: 1)
        let result = try await side.load.work(off: ofRound)
        if round > 0 { side.claims.add(result.claims) }
    }
}

/// The result of `WaitingBenchmark`.
struct WaitingReport: BenchmarkReport {
    let mode = "waiting"
    var setting: BenchmarkSetting
    var waiting: Int
    /// Number of claims per side.
    var claims: Int
    var claimP50Milliseconds: Double
    var claimP99Milliseconds: Double
    /// Number of waiting jobs on the side with few.
    var fewWaiting = BenchmarkOptions.fewWaiting
    var fewClaimP50Milliseconds: Double
    var fewClaimP99Milliseconds: Double
    /// Ratio of the 99th percentiles, many to few.
    var ratio: Double

    init(_ options: BenchmarkOptions, waiting: Int, few: Samples, many: Samples) {
        setting = BenchmarkSetting(options)
        self.waiting = waiting
        claims = many.count
        func shown(_ samples: Samples, _ fraction: Double) -> Double {
            (samples.quantile(fraction) * 1_000).rounded(places: 2)
        }
        claimP50Milliseconds = shown(many, 0.5)
        claimP99Milliseconds = shown(many, 0.99)
        fewClaimP50Milliseconds = shown(few, 0.5)
        fewClaimP99Milliseconds = shown(few, 0.99)
        ratio = (many.quantile(0.99) / few.quantile(0.99)).rounded(places: 3)
    }

    var text: String {
        func row(_ waiting: Int, _ p50: Double, _ p99: Double) -> [String] {
            [HumanFormat.count(waiting), milliseconds(p50), milliseconds(p99)]
        }
        return "\(HumanFormat.count(claims)) claims a side: \(setting.text)\n\n"
            + TextLayout.table(
                headings: ["Waiting", "Claim p50", "p99"], alignments: [.right, .right, .right],
                rows: [
                    row(fewWaiting, fewClaimP50Milliseconds, fewClaimP99Milliseconds),
                    row(waiting, claimP50Milliseconds, claimP99Milliseconds),
                ])
            + "\nRatio of p99: \(HumanFormat.fixed(ratio, places: 2))\n"
    }
}
