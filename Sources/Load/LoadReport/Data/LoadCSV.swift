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
            count("planned", \.pacing.planned), count("sent", \.requests.sent),
            count("succeeded", \.requests.succeeded),
            count("failed", \.requests.failed), count("bytes", \.requests.bytes),
            count("connections", \.requests.connections), count("in_flight", \.levels.inFlight),
            count("backlog", \.levels.backlog), count("late_sends", \.pacing.lateSends),
            count("missed_sends", \.pacing.missedSends), count("resent", \.requests.resent),
            ("p50_us", { "\($0.p50)" }),
            ("p95_us", { "\($0.p95)" }), ("p99_us", { "\($0.p99)" }),
            ("max_us", { "\($0.longest)" }), ("first_byte_p99_us", { "\($0.firstByteP99)" }),
            count("cache_hits", \.cache.hits), count("cache_misses", \.cache.misses),
            count("viewers", \.levels.viewers), count("viewers_started", \.viewers.started),
            count("viewers_ended", \.viewers.ended), count("viewers_failed", \.viewers.failed),
            count("segments", \.playback.segments), count("late_segments", \.playback.lateSegments),
            count("stalls", \.playback.stalls), count("switches", \.playback.switches),
            seconds("played_seconds", \.playback.playedSeconds),
            seconds("stalled_seconds", \.playback.stalledSeconds),
            seconds("cpu_seconds", \.cpuSeconds),
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
