import Foundation
import LoadModel
import TestSupport
import Testing

@testable import LoadReport

/// The page in a real browser that has no network.
@Suite struct BrowserTests {
    static let browser = "/usr/bin/chromium"

    @Test(
        "the page is drawn whole, and requests nothing",
        .enabled(if: FileManager.default.isExecutableFile(atPath: browser), "there is no chromium"),
        arguments: GoldenTests.samples.indices)
    func opens(index: Int) async throws {
        let directory = try TemporaryDirectory()
        let sample = GoldenTests.samples[index]
        let text = LoadHTML(sample.result, ladder: sample.ladder).text
        let child = try await open(
            text, in: directory, windowSize: "1100,3200",
            ["--enable-logging=stderr", "--screenshot=\(directory.path("page.png"))"])
        let page = child.output
        // A browser reports what it refuses or cannot parse on its console.
        #expect(!child.errors.contains("CONSOLE"), "\(child.errors)")
        #expect(count("<svg", in: page) == count("<svg", in: text))
        #expect(count("<polyline", in: page) == count("<polyline", in: text))
        #expect(count("<tr", in: page) == count("<tr", in: text))
        let picture = try directory.read("page.png")
        #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47]))
    }

    /// What says in the page's own words what is wrong with it in a narrow window.
    private static let narrow = """
        <script>
        const page = document.documentElement, faults = [];
        if (page.scrollWidth > page.clientWidth) faults.push("wider than the window");
        for (const cell of document.querySelectorAll("th.n,td.n")) {
            const range = document.createRange();
            range.selectNodeContents(cell);
            const tops = new Set([...range.getClientRects()].map(line => line.top));
            if (tops.size > 1) faults.push("broken: " + cell.textContent);
        }
        for (const chart of document.querySelectorAll("svg"))
            if (chart.getScreenCTM().a * 12 < 9) faults.push("small: " + chart.ariaLabel);
        page.dataset.faults = "[" + faults.join("; ") + "]";
        </script></body>
        """

    @Test(
        "in a narrow window nothing sticks out, and all can be read",
        .enabled(if: FileManager.default.isExecutableFile(atPath: browser), "there is no chromium"),
        arguments: GoldenTests.samples.indices)
    func isNarrow(index: Int) async throws {
        let directory = try TemporaryDirectory()
        let sample = GoldenTests.samples[index]
        var result = sample.result
        result.name = "https://edge.example/" + String(repeating: "title", count: 30)
        let text = LoadHTML(result, ladder: sample.ladder).text
            .replacing("default-src 'none'", with: "default-src 'unsafe-inline'")
            .replacing("</body>", with: Self.narrow)
        let child = try await open(text, in: directory, windowSize: "500,900")
        let faults = child.output.firstMatch(of: /data-faults="(.*?)"/)?.1
        #expect(faults == "[]")
    }

    /// The browser that has opened the page and said what became of it.
    private func open(
        _ text: String, in directory: TemporaryDirectory, windowSize: String,
        _ options: [String] = []
    ) async throws -> ChildProcess {
        try directory.write(text, to: "report.html")
        let child = try ChildProcess(
            [
                Self.browser, "--headless", "--no-sandbox", "--disable-gpu",
                "--disable-dev-shm-usage", "--user-data-dir=\(directory.path("profile"))",
                "--window-size=\(windowSize)", "--host-rules=MAP * ~NOTFOUND", "--dump-dom",
            ] + options + ["file://\(directory.path("report.html"))"])
        #expect(try await child.wait() == .exited(0))
        return child
    }

    private func count(_ part: String, in text: String) -> Int {
        text.components(separatedBy: part).count - 1
    }
}
