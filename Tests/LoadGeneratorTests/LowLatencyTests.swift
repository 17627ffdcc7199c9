import EventLoop
import LoadGenerator
import LoadModel
import Model
import Statistics
import Synchronization
import TestSupport
import Testing

/// A low-latency origin, which answers a blocking reload when it has the part, and viewers of it.
@Suite(.timeLimit(.minutes(1))) struct LowLatencyTests {
    /// Segments of 1.2 s in parts of 0.3 s, of which the first is independent.
    private struct Packager: Sendable {
        static let partSeconds = 0.3
        static let parts = 4
        /// On the monotonic clock: five segments were made before.
        let start = MonotonicClock.nowNanoseconds - 6_000_000_000

        /// Number of parts made so far.
        var made: Int {
            Int(Double(MonotonicClock.nowNanoseconds - start) / 1e9 / Self.partSeconds)
        }

        func playlist(_ made: Int) -> String {
            let (whole, rest) = made.quotientAndRemainder(dividingBy: Self.parts)
            var lines = [
                "#EXTM3U", "#EXT-X-TARGETDURATION:2", "#EXT-X-PART-INF:PART-TARGET=0.3",
                "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=0.9",
                "#EXT-X-MEDIA-SEQUENCE:\(max(whole - 4, 0))",
            ]
            for number in max(whole - 4, 0)...whole {
                let listed = number == whole ? rest : Self.parts
                for part in 0..<listed where number >= whole - 2 {
                    lines.append(
                        "#EXT-X-PART:DURATION=0.3,URI=\"\(number).\(part).mp4\""
                            + (part == 0 ? ",INDEPENDENT=YES" : ""))
                }
                if number < whole { lines += ["#EXTINF:1.2,", "\(number).mp4"] }
            }
            return lines.joined(separator: "\n") + "\n"
        }
    }

    @Test func viewersGetPartsAsTheyAreMade() async throws {
        let origin = try FaultOrigin()
        let packager = Packager()
        let early = Mutex(0)
        origin.route("/live.m3u8") { request in
            var wanted = 0
            if let query = request.target.split(separator: "?").dropFirst().first {
                var numbers: [String: Int] = [:]
                for item in query.split(separator: "&") {
                    let pair = item.split(separator: "=")
                    numbers[String(pair[0])] = Int(pair[1])
                }
                let number = numbers["_HLS_msn"] ?? 0
                wanted = number * Packager.parts + (numbers["_HLS_part"] ?? 0) + 1
            }
            // The origin holds the request until the part is made, as RFC 8216bis says (6.2.5.2).
            try? blockUntil(deadlineSeconds: 10, "the part") { packager.made >= wanted }
            return .init(text: packager.playlist(max(packager.made, wanted)))
        }
        for number in 0..<30 {
            for name in ["\(number)"] + (0..<Packager.parts).map({ "\(number).\($0)" }) {
                origin.route("/\(name).mp4") { _ in
                    let parts = name.split(separator: ".").compactMap { Int($0) }
                    let last = parts[0] * Packager.parts + (parts.count > 1 ? parts[1] : 3)
                    if packager.made <= last { early.withLock { $0 += 1 } }
                    return .init(200, body: [1, 2, 3])
                }
            }
        }
        var scenario = LoadScenario.closed(users: 2, seconds: 6)
        scenario.targets = [
            LoadTarget(name: "t", source: .url(origin.url("/live.m3u8"), .hls))
        ]
        scenario.user = .viewers(ViewerSettings())
        let plan = try await preflight(scenario).plan
        let run = try await EngineRun(plan, scenario, threads: 1)
        #expect(run.total.errors == [:])
        #expect(early.withLock { $0 } == 0)
        #expect(run.counts.viewers.failed == 0)
        // Reloads of the live edge, one for each part.
        let blocking = origin.requests.filter { $0.target.contains("_HLS_msn=") }
        #expect(blocking.count >= 2 * 10, "\(blocking.count)")
        #expect(blocking.allSatisfy { $0.target.contains("_HLS_part=") })
        #expect(origin.requests.count { $0.path.split(separator: ".").count == 3 } >= 2 * 10)
        // The part hold-back, and up to one segment to an independent part; not three whole segments.
        let latency = Double(run.total[.liveLatency]?.value(quantile: 0.5) ?? 0) / 1e6
        #expect(latency > 0.5 && latency < 6, "\(latency)")
        #expect(run.counts.live.stalePlaylists == 0)
    }
}
