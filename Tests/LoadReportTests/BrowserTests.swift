import Foundation
import TestSupport
import Testing

@testable import LoadReport

/// The page in a real browser that has no network.
@Suite struct BrowserTests {
    static let browser = "/usr/bin/chromium"

    @Test(
        "the page is drawn whole, and asks for nothing",
        .enabled(if: FileManager.default.isExecutableFile(atPath: browser), "there is no chromium"),
        arguments: GoldenTests.samples.indices)
    func opens(index: Int) async throws {
        let directory = try TemporaryDirectory()
        let sample = GoldenTests.samples[index]
        let text = LoadHTML(sample.result, ladder: sample.ladder).text
        try directory.write(text, to: "report.html")
        let child = try ChildProcess([
            Self.browser, "--headless", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--user-data-dir=\(directory.path("profile"))",
            "--enable-logging=stderr", "--window-size=1100,3200", "--host-rules=MAP * ~NOTFOUND",
            "--screenshot=\(directory.path("page.png"))", "--dump-dom",
            "file://\(directory.path("report.html"))",
        ])
        #expect(try await child.wait() == .exited(0))
        let page = child.output
        // What a browser refuses or cannot parse it says on its console.
        #expect(!child.errors.contains("CONSOLE"), "\(child.errors)")
        #expect(count("<svg", in: page) == count("<svg", in: text))
        #expect(count("<polyline", in: page) == count("<polyline", in: text))
        #expect(count("<tr", in: page) == count("<tr", in: text))
        let picture = try directory.read("page.png")
        #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47]))
    }

    private func count(_ part: String, in text: String) -> Int {
        text.components(separatedBy: part).count - 1
    }
}
