import Foundation
import LoadModel
import TestSupport
import Testing

@testable import LoadReport

/// The page in a real browser that has no network.
@Suite struct BrowserTests {
    @Test(
        "the page is drawn whole, and requests nothing",
        .enabled(if: Browser.isInstalled, Browser.needs),
        arguments: GoldenTests.samples.indices)
    func opens(index: Int) async throws {
        let directory = try TemporaryDirectory()
        let sample = GoldenTests.samples[index]
        let text = LoadHTML(sample.result, ladder: sample.ladder).text
        let child = try await Browser.open(
            text, in: directory, windowSize: "1100,3200",
            ["--enable-logging=stderr", "--screenshot=\(directory.path("page.png"))"])
        let page = child.output
        // A browser reports what it rejects or cannot parse on its console.
        #expect(!child.errors.contains("CONSOLE"), "\(child.errors)")
        #expect(count("<svg", in: page) == count("<svg", in: text))
        #expect(count("<polyline", in: page) == count("<polyline", in: text))
        #expect(count("<tr", in: page) == count("<tr", in: text))
        let picture = try directory.read("page.png")
        #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47]))
    }

    @Test(
        "in a narrow window nothing sticks out, and all can be read",
        .enabled(if: Browser.isInstalled, Browser.needs),
        arguments: GoldenTests.samples.indices)
    func isNarrow(index: Int) async throws {
        let sample = GoldenTests.samples[index]
        var result = sample.result
        result.name = "https://edge.example/" + String(repeating: "title", count: 30)
        for width in [nil, 400] {
            let faults = try await Browser.faults(
                of: LoadHTML(result, ladder: sample.ladder).text, windowSize: "500,900",
                frameWidth: width, scrolls: true)
            #expect(faults == "[]")
        }
    }

    private func count(_ part: String, in text: String) -> Int {
        text.components(separatedBy: part).count - 1
    }
}
