import Foundation
import LoadModel
import Testing

@testable import LoadReport

/// The charts of a search: load against latency, throughput and errors.
@Suite struct LadderChartTests {
    private static func count(_ part: String, in text: String) -> Int {
        text.components(separatedBy: part).count - 1
    }

    @Test func aSearchIsDrawnByLoad() throws {
        let ladder = SampleResult.search()
        let text = LoadHTML(ladder.steps[0].result, ladder: ladder).text
        for caption in [
            "Total by load", "Successful requests per second by load", "Share of requests by load",
        ] {
            #expect(Self.count("aria-label=\"\(caption)\"", in: text) == 1)
        }
        // Loads in order, not as they were tried; each point has its value.
        #expect(text.contains("<title>200/s, p99: 20.0 ms</title>"))
        let (first, second, third) = (
            try #require(text.firstRange(of: "200/s, p50")),
            try #require(text.firstRange(of: "300/s, p50")),
            try #require(text.firstRange(of: "400/s, p50"))
        )
        #expect(first.lowerBound < second.lowerBound && second.lowerBound < third.lowerBound)
        #expect(text.contains("<title>400/s, failed: 0 %</title>"))
        // A scale has no loads to search.
        let scale = SampleResult.scale()
        #expect(!LoadHTML(scale.steps[3].result, ladder: scale).text.contains("by load"))
    }

    /// What counts of a load that was tried again is its last try.
    @Test func onlyTheLastTryIsDrawn() {
        var ladder = SampleResult.search()
        ladder.steps[1].result.total.counts.requests.failed = 4_000
        ladder.steps.append(.init(level: 400, result: SampleResult.search().steps[1].result))
        let text = LoadHTML(ladder.steps[0].result, ladder: ladder).text
        #expect(!text.contains("400/s, failed: 50 %"))
        #expect(Self.count("<title>400/s, failed: ", in: text) == 1)
    }

    @Test func oneLoadIsNoLine() {
        func chart(_ points: [(level: Double, value: Double)]) -> String {
            LadderChart(
                caption: "c", series: [.init(name: "s", points: points)], name: { "\($0)" },
                format: { "\($0)" }
            ).text
        }
        #expect(chart([]).isEmpty && chart([(level: 10, value: 1)]).isEmpty)
        let text = chart([(level: 10, value: 1), (level: 20, value: 2), (level: 40, value: 4)])
        // Each doubling is as wide as the other.
        #expect(text.contains("<polyline points=\"84,165 460,120 836,30\""), "\(text)")
    }
}
