import Model
import Postgres
import Rendering
import Services

/// Runs a command and bare SQL that completes segments, at the same time. This is the minimum cost
/// of downloading and recording, if both are done as cheaply as possible.
///
/// Runs once, regardless of `rounds`: the caller alternates it with other measurements.
struct BesideBenchmark: Sendable {
    let cluster: BenchmarkCluster
    let options: BenchmarkOptions
    /// Run by `sh -c`; its output goes to stderr.
    let command: String
    let note: @Sendable (String) -> Void

    func run() async throws -> BesideReport {
        let database = try await cluster.addDatabase(named: "beside")
        try await database.fillFinished(options.finished, as: "finished", options)
        note("submitting \(options.segments) segments")
        let work = BenchmarkWork(
            name: "ceiling", segments: options.segments,
            segmentsPerTitle: options.segmentsPerTitle, origins: options.origins)
        let submitted = try await database.submit(work, clients: options.clients)
        var connections: [PostgresConnection] = []
        for _ in 0..<options.clients { connections.append(try await cluster.connect(database.url)) }
        let ceiling = CeilingLoad(
            connections: connections, lanes: try await database.tables.lanes(of: submitted.queue),
            batch: options.batch, completing: [])
        try await database.tables.settle()
        await cluster.stopCoordinators()

        let start = ContinuousClock.now
        async let status = Subprocess.run(["sh", "-c", command], output: 2)
        let recorded = try await ceiling.work(off: options.segments)
        let ended = try await status
        let seconds = start.duration(to: .now).inSeconds
        guard ended == 0 else {
            throw Failure(.workerInternal, "the command of --beside ended with status \(ended)")
        }
        return BesideReport(
            setting: BenchmarkSetting(options), bothSeconds: seconds.rounded(places: 3),
            recordSeconds: recorded.seconds.rounded(places: 3))
    }
}

/// The result of `BesideBenchmark`.
struct BesideReport: BenchmarkReport {
    let mode = "beside"
    var setting: BenchmarkSetting
    /// Seconds from the start of both to the end of the last one.
    var bothSeconds: Double
    /// Seconds until bare SQL had recorded all segments.
    var recordSeconds: Double

    var text: String {
        "\(HumanFormat.count(setting.segments)) segments: \(setting.text)\n\n"
            + figures([
                ("Command and bare SQL", "\(HumanFormat.fixed(bothSeconds, places: 2)) s"),
                ("Of it, bare SQL", "\(HumanFormat.fixed(recordSeconds, places: 2)) s"),
            ])
    }
}
