package import API
package import Model
import Rendering
import Text

/// Words and tables of a cache's report. Pure.
package struct CacheText {
    let report: CacheReport
    /// Columns of the terminal; nil for other output.
    let columns: Int?

    package static let listedFindings = 20

    package init(_ report: CacheReport, columns: Int? = nil) {
        self.report = report
        self.columns = columns
    }

    /// A table with a row for each POP.
    package var table: String {
        let headings = [
            "POP", "Objects", "Hit", "Stored", "Miss", "Not stored", "Unknown", "Failed", "Evicted",
            "Differing", "Bytes",
        ]
        let rows = report.pops.map { pop in
            [printable(pop.pop)]
                + [
                    pop.objects, pop.hits, pop.stored, pop.misses, pop.notStored, pop.unknown,
                    pop.failed, pop.evicted, pop.differing,
                ].map { HumanFormat.count($0) } + [HumanFormat.bytes(pop.bytes)]
        }
        return TextLayout.table(
            headings: headings, alignments: [.left] + headings.dropFirst().map { _ in .right },
            rows: rows, columns: columns)
    }

    private static func words(_ state: CacheAnswer.State) -> String {
        switch state {
        case .hit: "hit"
        case .stored: "stored now"
        case .miss: "miss"
        case .notStored: "not stored"
        case .unknown: "no sign of a cache"
        }
    }

    /// Number of objects that are not cached or differ, at all POPs.
    package var findings: Int {
        report.pops.reduce(0) { $0 + max($1.notCached, $1.differing) }
    }

    /// True if POPs served different bytes.
    package var hasDifferences: Bool { report.pops.contains { $0.differing > 0 } }

    /// Names the first objects that are not cached or differ; empty without any.
    package func list(of catalog: CatalogID) -> String {
        var text = ""
        for finding in report.findings.prefix(Self.listedFindings) {
            text += "\(finding.code): \(printable(finding.pop))/\(printable(finding.path))\n"
            var reasons = [
                Self.words(finding.state)
            ]
            if !finding.detail.isEmpty { reasons.append(printable(finding.detail)) }
            if finding.differs { reasons.append("SHA-256 \(finding.sha256)") }
            text += "    \(reasons.joined(separator: "; "))\n"
        }
        for code in Set(report.findings.map(\.code)).sorted(by: { $0.rawValue < $1.rawValue }) {
            text += "\(code): \(code.row.hint)\n"
        }
        if report.findings.count > Self.listedFindings || report.next != nil {
            text += "and more: dray catalog caches \(catalog) --json, or --report FILE\n"
        }
        return text
    }
}
