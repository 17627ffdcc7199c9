import Model
import Schedule

/// The page of a `url` of a sitemap and its `lastmod`, which may come in either order.
struct SitemapEntry {
    static let modified = "lastmod"

    private var page: (asset: AssetSubmission, line: Int)?
    private var modified: Double?

    /// Sets the page; returns what is complete.
    mutating func setPage(_ asset: AssetSubmission, line: Int) -> [XMLFinding] {
        let before = flush()
        page = (asset, line)
        return modified == nil ? before : before + flush()
    }

    /// Sets the time of the page's last change. An invalid one counts as none: many sitemaps have some.
    mutating func setModified(_ text: some Sequence<UInt8>) -> [XMLFinding] {
        modified = Self.time(String(decoding: Array(text), as: UTF8.self))
        return flush()
    }

    /// Returns the page, unless it was returned.
    mutating func flush() -> [XMLFinding] {
        guard var page else { return [] }
        self.page = nil
        page.asset.modified = modified
        return [.asset(page.asset, line: page.line)]
    }

    /// Ends the entry.
    mutating func end() -> [XMLFinding] {
        defer { modified = nil }
        return flush()
    }

    /// Parses a date, or a date and a time with a zone (W3C Datetime); nil if it is neither.
    static func time(_ text: String) -> Double? {
        guard (10...40).contains(text.utf8.count) else { return nil }
        var text = text
        if text.utf8.count == 10 { text += "T00:00Z" }
        if let point = text.firstIndex(of: ".") {
            let end = text[point...].dropFirst().firstIndex { !$0.isNumber }
            text.removeSubrange(point..<(end ?? text.endIndex))
        }
        return pointInTime(text, now: 0)
    }
}
