import Rendering

/// The result of `ThroughputBenchmark`.
struct ThroughputReport: BenchmarkReport {
    let mode = "throughput"
    var setting: BenchmarkSetting
    /// Segments per second that became durable jobs, from opening the catalog to the last answer.
    var submitPerSecond = 0
    var submitWALBytesPerSegment = 0.0
    /// Maximum memory of the coordinator, from its start to the end of the submission.
    var submitCoordinatorResidentBytes: Int64 = 0
    /// Median rate of the rounds in segments claimed and completed, as is `apiPerSecond`.
    var ceilingPerSecond = 0
    var apiPerSecond = 0
    /// Median ratio of the rounds.
    var ratio = 0.0
    var rounds: [Round] = []
    /// Time of a claim through the API, as the client measures it, over all rounds.
    var claimP50Milliseconds = 0.0
    var claimP99Milliseconds = 0.0
    var ceilingClaimP50Milliseconds = 0.0
    var ceilingClaimP99Milliseconds = 0.0
    /// Bytes of write-ahead log for claims and completions.
    var walBytesPerSegment = 0.0
    var ceilingWALBytesPerSegment = 0.0
    var cpuMicrosecondsPerSegment = CPUPerSegment()
    var ceilingCPUMicrosecondsPerSegment = CPUPerSegment()
    /// Maximum number of the coordinator's connections.
    var databaseConnections = 0
    /// Maximum memory of the coordinator over the whole run.
    var coordinatorResidentBytes: Int64 = 0
    /// Number of dead rows in all tables at the end.
    var deadRows = 0
    var tables: [TableUsage] = [] {
        didSet { deadRows = tables.reduce(0) { $0 + $1.deadRows } }
    }

    struct Round: Encodable, Sendable {
        var ceilingPerSecond: Int
        var apiPerSecond: Int
        var ratio: Double

        init(ceiling: Double, api: Double) {
            ceilingPerSecond = ceiling.wholeNumber
            apiPerSecond = api.wholeNumber
            ratio = ceiling > 0 ? (api / ceiling).rounded(places: 3) : 0
        }

        var text: String {
            "ceiling \(HumanFormat.count(ceilingPerSecond))/s, "
                + "API \(HumanFormat.count(apiPerSecond))/s, ratio \(ThroughputReport.shown(ratio))"
        }
    }

    init(_ options: BenchmarkOptions) { setting = BenchmarkSetting(options) }

    var text: String {
        let rows = rounds.enumerated().map { index, round in
            [
                "\(index + 1)", HumanFormat.count(round.ceilingPerSecond),
                HumanFormat.count(round.apiPerSecond), Self.shown(round.ratio),
            ]
        }
        let median = [
            "median", HumanFormat.count(ceilingPerSecond), HumanFormat.count(apiPerSecond),
            Self.shown(ratio),
        ]
        return "\(HumanFormat.count(setting.segments)) segments: \(setting.text)\n\n"
            + TextLayout.table(
                headings: ["Round", "Ceiling/s", "API/s", "Ratio"],
                alignments: [.left, .right, .right, .right], rows: rows + [median])
            + "\n" + figures(lines) + "\n" + TableUsage.text(tables)
    }

    private var lines: [(String, String)] {
        func wal(_ bytes: Double) -> String { HumanFormat.fixed(bytes, places: 0) }
        return [
            (
                "Submit",
                "\(HumanFormat.count(submitPerSecond)) segments/s, coordinator up to "
                    + HumanFormat.bytes(submitCoordinatorResidentBytes)
            ),
            (
                "Claim",
                "p50 \(milliseconds(claimP50Milliseconds)), "
                    + "p99 \(milliseconds(claimP99Milliseconds)); ceiling "
                    + "p50 \(milliseconds(ceilingClaimP50Milliseconds)), "
                    + "p99 \(milliseconds(ceilingClaimP99Milliseconds))"
            ),
            (
                "WAL",
                "\(wal(walBytesPerSegment)) B a segment; ceiling "
                    + "\(wal(ceilingWALBytesPerSegment)) B; submit "
                    + "\(wal(submitWALBytesPerSegment)) B"
            ),
            ("CPU, API", cpuMicrosecondsPerSegment.text),
            ("CPU, ceiling", ceilingCPUMicrosecondsPerSegment.text),
            (
                "Coordinator",
                "up to \(HumanFormat.bytes(coordinatorResidentBytes)), "
                    + HumanFormat.count(databaseConnections, "database connection")
            ),
            ("Dead rows", HumanFormat.count(deadRows)),
        ]
    }

    fileprivate static func shown(_ ratio: Double) -> String { HumanFormat.fixed(ratio, places: 2) }
}

extension TableUsage {
    /// Formats the tables, the largest first.
    static func text(_ tables: [TableUsage]) -> String {
        TextLayout.table(
            headings: ["Table", "Rows", "Dead", "Size"],
            alignments: [.left, .right, .right, .right],
            rows: tables.map {
                [
                    $0.name, HumanFormat.count($0.liveRows), HumanFormat.count($0.deadRows),
                    HumanFormat.bytes($0.bytes),
                ]
            })
    }
}
