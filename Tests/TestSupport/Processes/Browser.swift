internal import Foundation
package import Testing

/// Chromium, without a network, for the pages that reports are.
package enum Browser {
    private static let path = "/usr/bin/chromium"

    package static let isInstalled = FileManager.default.isExecutableFile(atPath: path)
    package static let needs: Comment = "there is no chromium"

    /// Returns the browser that has opened a page; its output is the page as it became.
    package static func open(
        _ page: String, in directory: TemporaryDirectory, windowSize: String,
        _ options: [String] = []
    ) async throws -> ChildProcess {
        try directory.write(page, to: "report.html")
        let child = try ChildProcess(
            [
                path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--user-data-dir=\(directory.path("profile"))", "--window-size=\(windowSize)",
                "--host-rules=MAP * ~NOTFOUND", "--dump-dom",
            ] + options + ["file://\(directory.path("report.html"))"])
        #expect(try await child.wait() == .exited(0))
        return child
    }

    /// Returns what of a page cannot be read in a window, `[]` if all can.
    ///
    /// - Parameter scrolls: true if tables may be wider than the window, and scroll.
    package static func faults(
        of page: String, windowSize: String, scrolls: Bool
    ) async throws -> String? {
        let text = page.replacingOccurrences(
            of: "default-src 'none'", with: "default-src 'unsafe-inline'"
        ).replacingOccurrences(
            of: "</body>", with: "<script>\nconst scrolls = \(scrolls);\n\(script)</script></body>")
        let child = try await open(text, in: try TemporaryDirectory(), windowSize: windowSize)
        return child.output.firstMatch(of: /data-faults="(.*?)"/).map { String($0.1) }
    }

    /// Says in the page's own words what is wrong with it.
    private static let script = """
        const page = document.documentElement, faults = [];
        if (page.scrollWidth > page.clientWidth) faults.push("wider than the window");
        for (const cell of document.querySelectorAll("th.n,td.n")) {
            const range = document.createRange();
            range.selectNodeContents(cell);
            const tops = new Set([...range.getClientRects()].map(line => line.top));
            if (tops.size > 1) faults.push("broken: " + cell.textContent);
        }
        const tiles = [...document.querySelectorAll(".tile")], rows = new Map();
        for (const tile of tiles) {
            const value = tile.querySelector("b"), top = tile.getBoundingClientRect().top;
            if (value.scrollWidth > value.clientWidth) faults.push("overflows: " + value.textContent);
            rows.set(top, (rows.get(top) ?? 0) + 1);
        }
        const widest = Math.max(...rows.values());
        for (const [top, count] of rows)
            for (const tile of tiles)
                if (count == 1 && widest > 1 && tile.getBoundingClientRect().top == top
                    && tile.offsetWidth < tile.parentElement.offsetWidth)
                    faults.push("alone: " + tile.textContent);
        if (!scrolls)
            for (const box of document.querySelectorAll(".scroll"))
                if (box.scrollWidth > box.clientWidth)
                    faults.push("clipped: " + box.textContent.trim().slice(0, 40));
        for (const chart of document.querySelectorAll("svg")) {
            const box = chart.viewBox.baseVal;
            if (chart.getScreenCTM().a * 12 < 9) faults.push("small: " + chart.ariaLabel);
            for (const label of chart.querySelectorAll("text")) {
                const own = label.getBBox();
                if (own.x < -1 || own.x + own.width > box.width + 1 || own.y + own.height > box.height + 1)
                    faults.push("outside: " + label.textContent);
            }
        }
        page.dataset.faults = "[" + faults.join("; ") + "]";

        """
}
