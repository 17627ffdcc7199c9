import Foundation
import LoadTest
import Testing

@testable import LoadReport

/// Reports beside what they were: `DRAY_WRITE_DOCS=1` writes them anew, to be read before they are kept.
@Suite struct GoldenTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appending(path: "Golden")

    static let samples: [(name: String, result: LoadResult)] = [
        ("requests", SampleResult.requests()), ("viewers", SampleResult.viewers()),
        ("nothing", SampleResult.nothing()),
    ]

    /// Every text that a result becomes, by the end of its name.
    static func reports(_ result: LoadResult) throws -> [String: String] {
        [
            "txt": LoadSummary(result, usesUnicode: true).text,
            "ascii.txt": LoadSummary(result, usesUnicode: false).text,
            "json": try LoadJSON.text(result), "csv": LoadCSV.text(result),
            "prom": LoadPrometheus.text(result), "html": LoadHTML(result).text,
            "hlog": try LoadHistograms.text(result),
        ]
    }

    @Test(arguments: samples.indices)
    func reportsAreWhatTheyWere(index: Int) throws {
        let sample = Self.samples[index]
        for (kind, text) in try Self.reports(sample.result) where kind != "hlog" {
            let file = Self.folder.appending(path: "\(sample.name).\(kind)")
            if ProcessInfo.processInfo.environment["DRAY_WRITE_DOCS"] == "1" {
                try FileManager.default.createDirectory(
                    at: Self.folder, withIntermediateDirectories: true)
                try Data(text.utf8).write(to: file)
            }
            let expected = try? String(contentsOf: file, encoding: .utf8)
            #expect(text == expected, "\(file.lastPathComponent) is not what comes out")
        }
    }

    @Test("no report has a secret, or a number that is none", arguments: samples.indices)
    func nothingThatMustNotBe(index: Int) throws {
        for (kind, text) in try Self.reports(Self.samples[index].result) {
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
