import FoundationEssentials
import Rendering

/// The result of a benchmark, as JSON or text.
package protocol BenchmarkReport: Encodable, Sendable {
    /// Tables and lines, for people.
    var text: String { get }
}

extension BenchmarkReport {
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
    }
}

/// CPU time by process, in microseconds per segment.
struct CPUPerSegment: Encodable, Sendable {
    var postgres = 0.0
    var coordinator = 0.0
    var client = 0.0

    init() {}

    init(_ times: CPUTimes, segments: Int) {
        func share(_ seconds: Double) -> Double {
            segments > 0 ? (seconds * 1e6 / Double(segments)).rounded(places: 2) : 0
        }
        postgres = share(times.postgres)
        coordinator = share(times.coordinator)
        client = share(times.client)
    }

    var total: Double { postgres + coordinator + client }

    /// Text form; without the coordinator if it used no time.
    var text: String {
        func shown(_ value: Double) -> String { HumanFormat.fixed(value, places: 1) }
        let middle = coordinator >= 0.05 ? ", coordinator \(shown(coordinator))" : ""
        return "\(shown(total)) µs a segment: PostgreSQL \(shown(postgres))\(middle), "
            + "clients \(shown(client))"
    }
}

/// The settings that all reports contain.
struct BenchmarkSetting: Encodable, Sendable {
    var segments: Int
    var segmentsPerTitle: Int
    var origins: Int
    var clients: Int
    var batch: Int
    var finished: Int

    init(_ options: BenchmarkOptions) {
        segments = options.segments
        segmentsPerTitle = options.segmentsPerTitle
        origins = options.origins
        clients = options.clients
        batch = options.batch
        finished = options.finished
    }

    var text: String {
        let kind =
            segmentsPerTitle == 1
            ? "files" : "titles of \(HumanFormat.count(segmentsPerTitle)) segments"
        return "\(kind) from \(HumanFormat.count(origins, "origin")), "
            + "\(HumanFormat.count(clients, "client")), batches of \(HumanFormat.count(batch))"
            + (finished > 0 ? ", \(HumanFormat.count(finished)) finished before" : "")
    }
}

/// Formats names and figures in two columns.
func figures(_ rows: [(String, String)]) -> String {
    let width = rows.map { TextLayout.width($0.0) }.max() ?? 0
    return rows.map { TextLayout.padded($0.0, to: width) + "  \($0.1)\n" }.joined()
}

package func milliseconds(_ value: Double) -> String { "\(HumanFormat.fixed(value, places: 2)) ms" }
