import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// The workers' figures in the report of a run, beside the access log of its origin.
    @Suite(.timeLimit(.minutes(5))) struct RunReportTests {
        private struct Work {
            let workers: Int
            let utilisation: Double
            let fetchSeconds: Double
            let seconds: Double

            init(_ path: String) throws {
                let totals = try Report(path).totals
                let work = try #require(totals["work"] as? [String: Any])
                func number(_ value: Any?) throws -> Double {
                    try #require((value as? NSNumber)?.doubleValue)
                }
                workers = Int(try number(work["workers"]))
                utilisation = try number(work["utilisation"])
                fetchSeconds = try number(work["fetchSeconds"])
                seconds = try number(totals["seconds"])
            }
        }

        /// Two runs in one state within a minute: neither has workers or times of the other. The
        /// second one's files take twice as long.
        @Test func aReportIsOfItsOwnRun() async throws {
            let directory = try TemporaryDirectory("origin")
            // nginx sends the bytes of the first second at once.
            let sizes = ["first": 70_000, "second": 100_000]
            for (name, bytes) in sizes {
                for number in 0..<24 {
                    try directory.write(sampleBytes(bytes), to: "\(name)/\(number).bin")
                }
            }
            let origin = try await NginxServer(
                root: directory.path, configuration: "limit_rate 40k;")
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            var works: [String: Work] = [:]
            let connections = 3
            for (name, workers) in [("first", 4), ("second", 1)] {
                let list = home.path("\(name).txt")
                try (0..<24).map { "\(origin.url)/\(name)/\($0).bin\n" }.joined()
                    .write(toFile: list, atomically: false, encoding: .utf8)
                let prefetch = try home.prefetch(
                    list,
                    [
                        "--name", name, "--workers", "\(workers)", "--connections",
                        "\(connections)",
                    ])
                #expect(
                    try await prefetch.wait(deadlineSeconds: 120) == .exited(0),
                    "\(prefetch.errors)")
                let work = try Work(home.report)
                #expect(work.workers == workers)
                let requests = origin.requests().filter { $0.target.hasPrefix("/\(name)/") }
                #expect(requests.count == 24)
                let used = requests.reduce(0) { $0 + $1.seconds }
                // It counts from each worker's first job, on a busy machine a second after the start
                // of the run.
                let began = requests.map { $0.ended - $0.seconds }.min() ?? 0
                let atOrigin = (requests.map(\.ended).max() ?? 0) - began
                let least = used / (Double(workers * connections) * work.seconds)
                let most = used / (Double(workers * connections) * atOrigin)
                #expect(
                    (least - 0.1...most + 0.1).contains(work.utilisation),
                    "\(name): \(work.utilisation), \(least) to \(most)")
                #expect(abs(work.fetchSeconds - used / 24) < 0.1 * used / 24 + 0.05)
                works[name] = work
            }
            let (first, second) = (try #require(works["first"]), try #require(works["second"]))
            #expect(second.fetchSeconds > 1.5 * first.fetchSeconds)
        }
    }
}
