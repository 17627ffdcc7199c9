package import LoadModel
import Rendering

/// Writes the series of a result as CSV (RFC 4180), one line per row; latencies in microseconds.
package enum LoadCSV {
    private typealias Column = (name: String, value: (LoadSecond) -> String)

    private static func count(_ name: String, _ value: @escaping (LoadCounts) -> Int64) -> Column {
        (name, { "\(value($0.counts))" })
    }

    private static func seconds(_ name: String, _ value: @escaping (LoadCounts) -> Double) -> Column
    {
        (name, { HumanFormat.fixed(value($0.counts), places: 3) })
    }

    private static var columns: [Column] {
        [
            ("second", { "\($0.second)" }), ("measured", { $0.isMeasured ? "1" : "0" }),
            ("length_seconds", { HumanFormat.fixed($0.lengthSeconds, places: 3) }),
            ("load_seconds", { HumanFormat.fixed($0.loadSeconds, places: 3) }),
            count("planned", \.planned), count("sent", \.sent), count("succeeded", \.succeeded),
            count("failed", \.failed), count("bytes", \.bytes),
            count("connections", \.connections), count("in_flight", \.inFlight),
            count("backlog", \.backlog), count("late_sends", \.lateSends),
            count("missed_sends", \.missedSends), count("resent", \.resent),
            ("p50_us", { "\($0.p50)" }),
            ("p95_us", { "\($0.p95)" }), ("p99_us", { "\($0.p99)" }),
            ("max_us", { "\($0.longest)" }), ("first_byte_p99_us", { "\($0.firstByteP99)" }),
            count("cache_hits", \.cacheHits), count("cache_misses", \.cacheMisses),
            count("viewers", \.viewers), count("viewers_started", \.viewersStarted),
            count("viewers_ended", \.viewersEnded), count("viewers_failed", \.viewersFailed),
            count("segments", \.segments), count("late_segments", \.lateSegments),
            count("stalls", \.stalls), count("switches", \.switches),
            seconds("played_seconds", \.playedSeconds),
            seconds("stalled_seconds", \.stalledSeconds), seconds("cpu_seconds", \.cpuSeconds),
            (
                "errors",
                {
                    $0.errors.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                        .joined(separator: ";")
                }
            ),
        ]
    }

    package static func text(_ result: LoadResult) -> String {
        let columns = columns
        let head = columns.map(\.name).joined(separator: ",") + "\r\n"
        return result.seconds.reduce(into: head) { text, second in
            text += columns.map { $0.value(second) }.joined(separator: ",") + "\r\n"
        }
    }
}
