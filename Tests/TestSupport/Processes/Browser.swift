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
    /// - Parameters:
    ///   - windowSize: the window's width and height. A window has 500 pixels or more.
    ///   - frameWidth: width of a frame for the page; nil to use the window.
    ///   - scrolls: true if tables may be wider than the window, and scroll.
    package static func faults(
        of page: String, windowSize: String, frameWidth: Int? = nil, scrolls: Bool
    ) async throws -> String? {
        let text = page.replacingOccurrences(
            of: "default-src 'none'", with: "default-src 'unsafe-inline'"
        ).replacingOccurrences(
            of: "</body>", with: "<script>\nconst scrolls = \(scrolls);\n\(script)</script></body>")
        let child = try await open(
            frameWidth.map { framed(text, width: $0) } ?? text, in: try TemporaryDirectory(),
            windowSize: windowSize)
        return child.output.firstMatch(of: /data-faults="(.*?)"/).map { String($0.1) }
    }

    private static func framed(_ page: String, width: Int) -> String {
        let content = page.replacingOccurrences(of: "&", with: "&amp;")
            .replacingOccurrences(of: "\"", with: "&quot;")
        return
            "<!doctype html><body><iframe width=\(width) height=900 srcdoc=\"\(content)\"></iframe>"
    }

    /// Says in the page's own words what is wrong with it.
    private static let script = """
        const page = document.documentElement, faults = [];
        if (page.scrollWidth > page.clientWidth) faults.push("wider than the window");
        for (const cell of document.querySelectorAll("th.n,td.n")) {
            // A value may be words, which wrap in a narrow window.
            if (cell.closest(".facts") && innerWidth <= 640) continue;
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
        for (const text of document.querySelectorAll(".tile b,.tile span,td,th")) {
            const node = text.firstChild, range = document.createRange();
            if (node?.nodeType != 3) continue;
            for (const word of node.data.matchAll(/[^\\s–-]+/g)) {
                if (word[0].length > 24) continue;
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                const tops = new Set([...range.getClientRects()].map(line => line.top));
                if (tops.size > 1) faults.push("word in pieces: " + word[0]);
            }
        }
        for (const box of document.querySelectorAll(".scroll,figure")) {
            if (box.scrollWidth <= box.clientWidth) continue;
            if (box.querySelector(".facts")) faults.push("cut: " + box.textContent.trim().slice(0, 40));
            if (getComputedStyle(box).backgroundImage == "none") faults.push("no sign of more");
        }
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
        parent.document.documentElement.dataset.faults =
            "[" + faults.join("; ").replace(/\\s+/g, " ") + "]";

        """
}
