import Foundation
import Statistics
import TestSupport
import Testing

@testable import LoadReport

/// What `dray histogram` makes of logs.
@Suite struct HistogramReportTests {
    private func log(_ intervals: [(tag: String?, values: [Int64])]) -> String {
        HdrHistogramLog.header(startSeconds: 1_700_000_000, comment: "a test")
            + intervals.enumerated().map { second, interval in
                var histogram = Histogram()
                for value in interval.values { histogram.record(value) }
                return HdrHistogramLog.line(
                    HistogramInterval(
                        tag: interval.tag, startSeconds: Double(second), lengthSeconds: 1,
                        histogram: histogram))
            }.joined()
    }

    private func report(_ logs: String...) throws -> HistogramReport {
        var report = HistogramReport()
        for log in logs { try report.add(log) }
        return report
    }

    private struct Answer: Decodable {
        struct Entry: Decodable, Equatable {
            var tag: String?
            var intervals: Int
            var values: Int64
            var minimumMicroseconds: Int64?
            var maximumMicroseconds: Int64?
            var percentilesMicroseconds: [String: Int64]
        }
        var tags: [Entry]
    }

    private func entries(_ text: String) throws -> [Answer.Entry] {
        let json = try report(text).json()
        return try JSONDecoder().decode(Answer.self, from: Data(json.utf8)).tags
    }

    @Test func logsOneAfterAnotherAreOneWhole() throws {
        let one = log([("connect", [7]), (nil, Array(1...500)), (nil, Array(501...600))])
        let two = log([(nil, Array(601...1_000)), ("connect", [9, 9])])
        let found = try entries(one + two)
        #expect(found.map(\.tag) == [nil, "connect"])
        #expect(found[0].intervals == 3 && found[0].values == 1_000)
        #expect(found[0].minimumMicroseconds == 1 && found[0].maximumMicroseconds == 1_000)
        #expect(
            found[0].percentilesMicroseconds == [
                "50": 500, "90": 900, "99": 990, "99.9": 999, "99.99": 1_000,
            ])
        #expect(found[1].values == 3 && found[1].percentilesMicroseconds["50"] == 9)
        #expect(try report(one, two).json() == report(one + two).json())
        #expect(throws: HistogramError(detail: "it has no interval")) { try report(one, "") }
        let table = try report(one + two).text
        #expect(table.split(separator: "\n").count == 3 && table.contains("connect"))
    }

    /// Logs of load tests have figures that are no times, under the names of their metrics.
    @Test func figuresThatAreNoTimesHaveTheirUnits() throws {
        let text = log([
            ("viewer_bit_rate", [2_500]), ("viewer_rebuffer_ratio", [20_000]),
            ("viewer_stalls", [3]), ("total", [2_500]),
        ])
        let report = try self.report(text)
        let lines = report.text.split(separator: "\n").map { line in
            line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        }
        #expect(lines[1].hasPrefix("viewer_bit_rate 1 1 2.50 Mbit/s"), "\(lines)")
        #expect(lines[2].hasPrefix("viewer_rebuffer_ratio 1 1 2.00 % 2 %"), "\(lines)")
        #expect(lines[3].hasPrefix("viewer_stalls 1 1 3 3"), "\(lines)")
        #expect(lines[4].hasPrefix("total 1 1 2.50 ms"), "\(lines)")
        let object = try JSONSerialization.jsonObject(with: Data(report.json().utf8))
        let tags = try #require((object as? [String: Any])?["tags"] as? [[String: Any]])
        #expect(
            tags.map { $0["unit"] as? String } == [
                "kilobitsPerSecond", "millionths", "count", "microseconds",
            ])
        #expect(tags[0]["maximum"] as? Int == 2_500 && tags[0]["maximumMicroseconds"] == nil)
        #expect(tags[3]["maximumMicroseconds"] as? Int == 2_500 && tags[3]["maximum"] == nil)
    }

    @Test func whatIsNoLogIsRefusedByItsLine() throws {
        let good = log([(nil, [1, 2, 3])])
        #expect(throws: HistogramError(detail: "it has no interval")) {
            try report("#[a comment]\n")
        }
        #expect {
            try report(good + "<html>\n")
        } throws: { ($0 as? HistogramError)?.detail.hasPrefix("line 6: ") == true }
        var huge = Histogram()
        huge.record(5, count: .max)
        let line = HdrHistogramLog.line(
            HistogramInterval(startSeconds: 0, lengthSeconds: 1, histogram: huge))
        #expect(throws: HistogramError(detail: "its counts are more than 64 bits hold")) {
            try report(line + line)
        }
        let tags = (0...HistogramReport.maxTags).map {
            (tag: "t\($0)" as String?, values: [Int64(1)])
        }
        #expect(throws: HistogramError(detail: "more than 1000 tags")) {
            try report(log(tags))
        }
    }
}
