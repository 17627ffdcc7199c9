import API
import Benchmark
import Glibc
import Model
import Rendering

/// `dray-benchmark messages`: encoding and decoding the frequent messages of a worker.
enum MessageBenchmark {
    /// Encodes and decodes each message so many times in each format, one after another.
    static func run(rounds: Int, jobs: Int) throws -> MessageBenchmarkReport {
        var report = MessageBenchmarkReport(rounds: rounds, jobs: jobs, forms: [])
        let grant = grant(of: jobs)
        let results = results(of: grant)
        for format in [WireFormat.rows, .json] {
            report.forms.append(try measure("grant", grant, format, rounds, jobs))
            report.forms.append(try measure("report", results, format, rounds, jobs))
        }
        return report
    }

    private static func grant(of jobs: Int) -> LeaseGrant {
        LeaseGrant(
            lease: .random(), seconds: 30,
            site: LeasedSite(id: SiteID(1), storageURL: "file:///edge"),
            jobs: (0..<jobs).map { number in
                let path = "origin.example/vod/title-\(number % 7)/video_1080p_\(number).m4s"
                let fetch = Fetch(url: "http://" + path, key: path, role: .media)
                return Job(
                    id: JobID(Int64(1_000_000 + number)),
                    asset: AssetID(Int64(20_000 + number % 7)), task: .fetch(fetch))
            })
    }

    private static func results(of grant: LeaseGrant) -> ReportRequest {
        ReportRequest(
            worker: .random(),
            results: grant.jobs.map { job in
                let stored = StoredObject(
                    bytes: 2_000_000 + job.id.rawValue, sha256: String(repeating: "0a", count: 32))
                return JobReport(
                    job: job.id, lease: grant.lease ?? .random(),
                    outcome: .done(JobReport.Done(stored: stored)))
            })
    }

    private static func measure<Message: Codable>(
        _ name: String, _ message: Message, _ format: WireFormat, _ rounds: Int, _ jobs: Int
    ) throws -> MessageBenchmarkReport.Figures {
        var bytes: [UInt8] = []
        var encodings: [Double] = []
        var decodings: [Double] = []
        for _ in 0..<rounds {
            let start = ContinuousClock.now
            bytes = try format.encode(message)
            let middle = ContinuousClock.now
            _ = try format.decodeStrictly(Message.self, from: bytes)
            encodings.append(start.duration(to: middle).inSeconds / Double(jobs) * 1e9)
            decodings.append(middle.duration(to: .now).inSeconds / Double(jobs) * 1e9)
        }
        return MessageBenchmarkReport.Figures(
            message: name, format: format == .rows ? "rows" : "json",
            bytesPerJob: (Double(bytes.count) / Double(jobs)).rounded(places: 1),
            encodeNanosecondsPerJob: ManifestBenchmark.median(encodings).rounded(places: 1),
            decodeNanosecondsPerJob: ManifestBenchmark.median(decodings).rounded(places: 1))
    }
}

struct MessageBenchmarkReport: BenchmarkReport {
    struct Figures: Encodable, Sendable {
        var message: String
        var format: String
        var bytesPerJob: Double
        /// Medians of the rounds.
        var encodeNanosecondsPerJob: Double
        var decodeNanosecondsPerJob: Double
    }

    var rounds: Int
    var jobs: Int
    var forms: [Figures]

    var text: String {
        TextLayout.table(
            headings: ["Message", "Format", "Bytes a job", "Encoded", "Decoded"],
            alignments: [.left, .left, .right, .right, .right],
            rows: forms.map { form in
                [
                    form.message, form.format, HumanFormat.fixed(form.bytesPerJob, places: 1),
                    "\(HumanFormat.fixed(form.encodeNanosecondsPerJob, places: 0)) ns",
                    "\(HumanFormat.fixed(form.decodeNanosecondsPerJob, places: 0)) ns",
                ]
            })
    }
}
