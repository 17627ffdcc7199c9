import Foundation
import LoadModel
import Testing

@testable import LoadReport

/// What reports show of parts of a test: groups of requests, classes of viewers, live titles, caches.
@Suite struct ResultTableTests {
    private static func result() -> LoadResult {
        var recorder = LoadRecorder()
        for second in 0..<10 {
            var interval = LoadInterval(second: second)
            interval.counts.requests.sent = 100
            interval.counts.requests.succeeded = 100
            interval.counts.requests.resent = second == 3 ? 40 : 0
            interval.counts.viewers.started = 1
            interval.counts.viewers.abandoned = second == 0 ? 1 : 0
            interval.counts.playback.seeks = 2
            interval.counts.playback.playedSeconds = 9
            interval.counts.live.playlistReloads = 5
            interval.counts.live.skips = second == 9 ? 1 : 0
            interval.counts.cache.hits = second < 5 ? 25 : 75
            interval.counts.cache.misses = second < 5 ? 75 : 25
            interval.counts.cache.hitBytes = 100
            interval.counts.cache.missBytes = 300
            for _ in 0..<100 { interval.record(20_000, .total) }
            interval.record(6_000_000, .liveLatency)
            interval.record(250_000, .viewerDrift)
            interval.record(12_000, .playlistReload)
            _ = recorder.add(interval, of: 1)
        }
        recorder.update { result in
            result.name = "t"
            result.scenario.user = .viewers(ViewerSettings())
            result.measuredSeconds = 10
            func add(_ dimension: LoadDimension, _ name: String, milliseconds: Int64, failed: Bool)
            {
                var group = LoadGroup()
                for index in 1...100 {
                    group.record(
                        total: milliseconds * 1_000 * (index > 98 ? 5 : 1), firstByte: 1_000,
                        bytes: 1_000, isFailure: failed, isAfterLoad: false,
                        recordsFailures: dimension == .status)
                }
                result.breakdown.add(group, LoadGroupKey(dimension, name))
            }
            for (dimension, fast, slow) in [
                (LoadDimension.target, "edge-1", "edge-2"), (.kind, "playlist", "media"),
                (.rendition, "480p", "1080p"), (.pathway, "A", "B"), (.status, "503", "200"),
            ] {
                add(dimension, fast, milliseconds: 10, failed: fast == "503")
                add(dimension, slow, milliseconds: 200, failed: false)
            }
            for (name, startup) in [("mobile", 4.0), ("television", 1)] {
                var totals = ViewerTotals()
                (totals.viewers, totals.startups, totals.startupSeconds) = (10, 10, 10 * startup)
                (totals.playedSeconds, totals.stalledSeconds) = (90, startup > 1 ? 10 : 0)
                (totals.abandoned, totals.stalls) = (startup > 1 ? 2 : 0, startup > 1 ? 5 : 0)
                result.breakdown.add(totals, ofClass: name)
            }
        }
        return recorder.result
    }

    /// The words of a line of a report that begins with `start`.
    private static func row(_ text: String, after title: String, _ start: String) throws -> String {
        let part = try #require(text.firstRange(of: title)).upperBound
        let line = try #require(
            text[part...].split(separator: "\n").first {
                $0.drop { $0 == " " }.hasPrefix(start)
            }, "\(title): \(start)")
        return line.split(separator: " ").joined(separator: " ")
    }

    @Test func eachPartHasItsPercentiles() throws {
        let text = LoadSummary(Self.result(), usesUnicode: true).text
        for (title, fast, slow) in [
            ("By target", "edge-1", "edge-2"), ("By kind", "playlist", "media"),
            ("By rendition", "480p", "1080p"), ("By pathway", "A", "B"),
            ("By status, failures included", "503", "200"),
        ] {
            let failed = fast == "503" ? "100" : "0"
            let found = try Self.row(text, after: title, fast)
            #expect(found.hasPrefix("\(fast) 100 \(failed) "), "\(title): \(found)")
            // The median and the highest: 1 of 100 is 5 times as much.
            #expect(found.contains(" 10.0 ms ") && found.hasSuffix(" 50.0 ms"), "\(found)")
            let other = try Self.row(text, after: title, slow)
            #expect(other.contains(" 200 ms ") && other.hasSuffix(" 1.00 s"), "\(title): \(other)")
        }
        let page = LoadHTML(Self.result()).text
        for title in ["By target", "By kind", "By rendition", "By pathway", "By status"] {
            #expect(page.contains(title))
        }
        let object = try JSONSerialization.jsonObject(
            with: Data(try LoadJSON.text(Self.result()).utf8))
        let groups = try #require((object as? [String: Any])?["groups"] as? [String: Any])
        #expect(Set(groups.keys) == ["target", "kind", "rendition", "pathway", "status"])
        let statuses = try #require(groups["status"] as? [[String: Any]])
        let refused = try #require(statuses.first { $0["name"] as? String == "503" })
        #expect(refused["failed"] as? Int == 100)
        let times = try #require(refused["total"] as? [String: Any])
        #expect(abs((times["p50"] as? Double ?? 0) - 10_000) < 10)
    }

    @Test func classesOfViewersStandBesideEachOther() throws {
        let text = LoadSummary(Self.result(), usesUnicode: true).text
        let mobile = try Self.row(text, after: "By class of viewers", "mobile")
        #expect(mobile.hasPrefix("mobile 10 0 2 4.00 s "), "\(mobile)")
        #expect(mobile.contains(" 10 % 5 "), "\(mobile)")
        let television = try Self.row(text, after: "By class of viewers", "television")
        #expect(television.hasPrefix("television 10 0 0 1.00 s "), "\(television)")
        #expect(try Self.row(text, after: "\nViewers\n", "abandoned").hasPrefix("abandoned 1 "))
        #expect(try Self.row(text, after: "\nViewers\n", "seeks") == "seeks 20")
    }

    @Test func liveTitlesHaveTheirLatencyAndDrift() throws {
        let text = LoadSummary(Self.result(), usesUnicode: true).text
        #expect(
            try Self.row(text, after: "By viewer", "latency to live").hasPrefix(
                "latency to live 10 6.0"))
        #expect(try Self.row(text, after: "By viewer", "drift").hasPrefix("drift 10 250 ms"))
        #expect(
            try Self.row(text, after: "\nViewers\n", "manifests").hasPrefix(
                "manifests 10 requested, 50 of them again; 0 stale"))
        #expect(try Self.row(text, after: "\nViewers\n", "skips").hasPrefix("skips 1 "))
    }

    /// A retry on a new connection is seen, and warned of beyond a hundredth.
    @Test func repeatedRequestsAreShown() throws {
        let result = Self.result()
        let text = LoadSummary(result, usesUnicode: true).text
        #expect(
            try Self.row(text, after: "\nResults\n", "sent again").hasPrefix("sent again 40 on"))
        #expect(result.warnings.contains { $0.hasPrefix("40 requests were sent again on a new") })
        #expect(LoadPrometheus.text(result).contains("dray_loadtest_resent_total{test=\"t\"} 40"))
        var few = result
        few.total.counts.requests.resent = 10
        #expect(!few.warnings.contains { $0.contains("sent again") })
    }

    @Test func hitsOfACacheAreShownOverTime() throws {
        let text = LoadSummary(Self.result(), usesUnicode: true).text
        #expect(
            try Self.row(text, after: "\nResults\n", "cache hits").hasPrefix(
                "cache hits 50 % of 1,000 with cache headers; 25 % of their bytes"))
        #expect(text.contains("up to 75 %"), "\(text)")
        #expect(LoadHTML(Self.result()).text.contains("Cache hit ratio by second"))
    }
}
