import Foundation
import LoadModel
import Testing

@testable import LoadReport

/// Reports compared with golden files: `DRAY_WRITE_DOCS=1` rewrites them for review.
@Suite struct GoldenTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appending(path: "Golden")

    struct Sample {
        var name: String
        var result: LoadResult
        var ladder: LoadLadder?
    }

    static let samples = [
        Sample(name: "requests", result: SampleResult.requests()),
        Sample(name: "viewers", result: SampleResult.viewers()),
        Sample(name: "nothing", result: SampleResult.nothing()),
        Sample(
            name: "scale", result: SampleResult.scale().steps[3].result,
            ladder: SampleResult.scale()),
        Sample(
            name: "search", result: SampleResult.search().steps[0].result,
            ladder: SampleResult.search()),
    ]

    /// Every text that a result becomes, by the end of its name.
    static func reports(_ sample: Sample) throws -> [String: String] {
        let (result, ladder) = (sample.result, sample.ladder)
        return [
            "txt": LoadSummary(result, ladder: ladder, usesUnicode: true).text,
            "ascii.txt": LoadSummary(result, ladder: ladder, usesUnicode: false).text,
            "json": try LoadJSON.text(result, ladder: ladder), "csv": LoadCSV.text(result),
            "prom": LoadPrometheus.text(result), "html": LoadHTML(result, ladder: ladder).text,
            "hlog": try LoadHistograms.text(result),
        ]
    }

    /// Of every sample the summary, and of one each other form; of that the start of what repeats.
    private static func kept(_ sample: Sample) throws -> [String: String] {
        let reports = try Self.reports(sample)
        guard sample.name == "requests" else { return reports.filter { $0.key == "txt" } }
        var kept = reports.filter { ["txt", "prom", "html"].contains($0.key) }
        kept["csv"] = reports["csv"]?.split(separator: "\n").prefix(5).joined(separator: "\n")
        kept["json"] = try reports["json"].map(outline)
        return kept
    }

    /// A line for each field of a JSON object, with the first two entries of each list.
    private static func outline(_ json: String) throws -> String {
        func short(_ value: Any) -> Any {
            if let object = value as? [String: Any] { return object.mapValues(short) }
            guard let list = value as? [Any] else { return value }
            let start = list.prefix(2).map(short)
            return list.count > 2 ? start + ["\(list.count) entries"] : start
        }
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        return try object.sorted { $0.key < $1.key }.map { name, value in
            let data = try JSONSerialization.data(
                withJSONObject: short(value),
                options: [.sortedKeys, .fragmentsAllowed, .withoutEscapingSlashes])
            return "\(name): \(String(decoding: data, as: UTF8.self))\n"
        }.joined()
    }

    @Test(arguments: samples.indices)
    func reportsAreWhatTheyWere(index: Int) throws {
        let sample = Self.samples[index]
        for (kind, text) in try Self.kept(sample) {
            let file = Self.folder.appending(path: "\(sample.name).\(kind)")
            if ProcessInfo.processInfo.environment["DRAY_WRITE_DOCS"] == "1" {
                try FileManager.default.createDirectory(
                    at: Self.folder, withIntermediateDirectories: true)
                try Data(text.utf8).write(to: file)
            }
            let expected = try? String(contentsOf: file, encoding: .utf8)
            #expect(text == expected, "\(file.lastPathComponent) is not what is written")
        }
    }

    @Test("no report has a secret, or an invalid number", arguments: samples.indices)
    func nothingThatMustNotBe(index: Int) throws {
        for (kind, text) in try Self.reports(Self.samples[index]) {
            #expect(!text.contains("SECRET") && !text.contains("user:pw"), "\(kind)")
            if kind == "hlog" { continue }
            let words = text.lowercased().split { !$0.isLetter && $0 != "+" }
            // The last bucket of a Prometheus histogram is called that.
            #expect(!words.contains("nan") && !words.contains("inf"), "\(kind)")
        }
    }

    @Test("the page needs no network and escapes what it is given")
    func page() throws {
        let text = LoadHTML(SampleResult.requests()).text
        #expect(!text.contains("src=") && !text.contains("href=") && !text.contains("<script"))
        #expect(text.contains("evening &amp; &lt;night&gt;") && !text.contains("<night>"))
        #expect(text.contains("prefers-color-scheme:dark"))
    }

    @Test("a summary in plain characters has none of a terminal's bars")
    func plainCharacters() {
        for sample in Self.samples {
            let text = LoadSummary(sample.result, usesUnicode: false).text
            #expect(!text.contains { "▁▂▃▄▅▆▇█✓✗".contains($0) })
        }
    }
}
