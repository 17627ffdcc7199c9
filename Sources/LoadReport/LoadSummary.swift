package import LoadTest
import PlannerText
import Runtime

/// A result for a terminal: what was asked, what came of it, and what it is worth.
package struct LoadSummary {
    private let facts: LoadFacts
    private let ladder: LoadLadder?
    private let usesUnicode: Bool
    private var result: LoadResult { facts.result }

    private static let width = 100
    private static let bars = 60

    /// - Parameter ladder: the steps of a test that was run with one load after another.
    package init(_ result: LoadResult, ladder: LoadLadder? = nil, usesUnicode: Bool) {
        facts = LoadFacts(result: result)
        self.ladder = ladder
        self.usesUnicode = usesUnicode
    }

    package var text: String {
        var sections = ["\(facts.name): \(facts.headline)\n"]
        let warnings = result.warnings
        if !warnings.isEmpty { sections.append(list("Beware", warnings)) }
        sections.append(rows("What was asked for", facts.asked))
        sections.append(rows("What was achieved", facts.achieved) + series)
        if let latencies = facts.latencies { sections.append(table(latencies)) }
        if !facts.viewers.isEmpty { sections.append(rows("Viewers", facts.viewers)) }
        for part in [facts.viewerFigures, facts.renditions, facts.targetTallies, facts.slowest] {
            if let part { sections.append(table(part)) }
        }
        if let errors = facts.errors { sections.append(failures(errors)) }
        if let shares = facts.shares { sections.append(table(shares)) }
        sections.append(rows("The generator", facts.health))
        if let thresholds { sections.append(thresholds) }
        if let ladder {
            let conclusions = LoadFacts.conclusions(ladder).map {
                "  " + TextLayout.wrapped($0, width: Self.width - 2, hangingIndent: 2) + "\n"
            }
            sections.append(table(facts.ladder(ladder)) + conclusions.joined())
        }
        return sections.joined(separator: "\n")
    }

    /// Rate and slowness over time.
    private var series: String {
        let seconds = result.seconds.filter(\.tellsRates)
        guard seconds.count > 1 else { return "" }
        let rates = seconds.compactMap { $0.perSecond(Double($0.counts.ended)) }
        let slowest = seconds.map { Double($0.p99) }
        func line(_ name: String, _ values: [Double], _ most: String, _ merge: ([Double]) -> Double)
            -> String
        {
            let bars = LoadFormat.sparkline(
                values, columns: Self.bars, usesUnicode: usesUnicode, merge: merge)
            return "  \(TextLayout.padded(name, to: 14))  \(bars)  up to \(most)\n"
        }
        let shownRates = LoadFormat.merged(rates, to: Self.bars, LoadFormat.mean)
        return line(
            "rate", rates, Quantity.rate(LoadFormat.most(shownRates)), LoadFormat.mean)
            + line(
                "p99", slowest, LoadFormat.time(microseconds: LoadFormat.most(slowest)),
                LoadFormat.most)
    }

    private func rows(_ title: String, _ rows: [LoadFacts.Row]) -> String {
        let names = max(rows.map { TextLayout.width($0.name) }.max() ?? 0, 14)
        let hasRemarks = rows.contains { !$0.remark.isEmpty }
        let values = hasRemarks ? rows.map { TextLayout.width($0.value) }.max() ?? 0 : 0
        let lines = rows.map { row in
            let head = "  \(TextLayout.padded(row.name, to: names))  "
            guard hasRemarks else {
                let indent = TextLayout.width(head)
                let body = TextLayout.wrapped(
                    row.value, width: Self.width - indent, hangingIndent: 0)
                return head
                    + body.split(separator: "\n").joined(
                        separator: "\n" + String(repeating: " ", count: indent)) + "\n"
            }
            return head + TextLayout.padded(row.value, to: values, right: true)
                + (row.remark.isEmpty ? "\n" : "  \(row.remark)\n")
        }
        return title + "\n" + lines.joined()
    }

    private func list(_ title: String, _ items: [String]) -> String {
        title + "\n"
            + items.map {
                "  - " + TextLayout.wrapped($0, width: Self.width - 4, hangingIndent: 4) + "\n"
            }.joined()
    }

    private func table(_ table: LoadFacts.Table) -> String {
        let text = TextLayout.table(
            headings: table.headings,
            alignments: table.headings.indices.map { table.text.contains($0) ? .left : .right },
            rows: table.rows.map { row in
                row.enumerated().map {
                    table.text.contains($0) ? TextLayout.middleTruncated($1, to: 48) : $1
                }
            })
        return table.title + "\n" + text.split(separator: "\n").map { "  \($0)\n" }.joined()
    }

    /// Each with what helps on a line of its own.
    private func failures(_ table: LoadFacts.Table) -> String {
        let codes = table.rows.map { TextLayout.width($0[0]) }.max() ?? 0
        let counts = table.rows.map { TextLayout.width($0[1]) }.max() ?? 0
        return "Errors\n"
            + table.rows.map { row in
                "  \(TextLayout.padded(row[0], to: codes))  "
                    + "\(TextLayout.padded(row[1], to: counts, right: true))  \(row[2])\n      "
                    + TextLayout.wrapped(row[3], width: Self.width - 6, hangingIndent: 6) + "\n"
            }.joined()
    }

    private var thresholds: String? {
        guard let table = facts.thresholds else { return nil }
        let names = table.rows.map { TextLayout.width($0[1]) }.max() ?? 0
        let lines = table.rows.map { row in
            let mark = usesUnicode ? row[0] : row[0] == "✓" ? "ok    " : "BROKEN"
            return "  \(mark) \(TextLayout.padded(row[1], to: names))  \(row[2])\n"
        }
        return "Thresholds\n" + lines.joined()
    }
}
