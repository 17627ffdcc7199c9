package import LoadModel
import Rendering

/// A result for a terminal: the test plan, the results and their limits.
package struct LoadSummary {
    private let facts: LoadFacts
    private let ladder: LoadLadder?
    private let usesUnicode: Bool
    private var result: LoadResult { facts.result }

    private let width: Int

    private static let usualColumns = 100
    private static let fewestColumns = 40
    private var bars: Int { min(60, width - 36) }

    /// Creates a summary.
    ///
    /// - Parameters:
    ///   - ladder: the steps of a test with several loads.
    ///   - columns: width of the terminal, which limits lines; nil for other output.
    package init(
        _ result: LoadResult, ladder: LoadLadder? = nil, usesUnicode: Bool, columns: Int? = nil
    ) {
        facts = LoadFacts(result: result)
        self.ladder = ladder
        self.usesUnicode = usesUnicode
        width = min(max(columns ?? Self.usualColumns, Self.fewestColumns), Self.usualColumns)
    }

    package var text: String {
        var leads = facts.leads(ladder)
        leads[0] = "\(facts.name): \(leads[0])"
        var sections = [
            leads.map { TextLayout.wrapped($0, width: width, hangingIndent: 2) + "\n" }.joined()
        ]
        let warnings = result.warnings
        if !warnings.isEmpty { sections.append(list("Warnings", warnings)) }
        sections.append(rows("Test plan", facts.asked))
        sections.append(rows("Results", facts.achieved) + series)
        if let latencies = facts.latencies { sections.append(table(latencies)) }
        if !facts.viewers.isEmpty { sections.append(rows("Viewers", facts.viewers)) }
        for part in [
            facts.viewerFigures, facts.viewerClasses, facts.renditions, facts.targetTallies,
            facts.kinds, facts.pathways, facts.statuses, facts.slowest,
        ] {
            if let part { sections.append(table(part)) }
        }
        if let errors = facts.errors { sections.append(failures(errors)) }
        if let shards = facts.shards { sections.append(table(shards)) }
        sections.append(rows("Load generator", facts.health))
        if let thresholds { sections.append(thresholds) }
        if let ladder {
            let conclusions = LoadFacts.conclusions(ladder).map {
                "  " + TextLayout.wrapped($0, width: width - 2, hangingIndent: 2) + "\n"
            }
            sections.append(table(facts.ladder(ladder)) + conclusions.joined())
        }
        // Lines that remain too long are truncated visibly.
        return sections.joined(separator: "\n").split(
            separator: "\n", omittingEmptySubsequences: false
        )
        .map { TextLayout.truncated(String($0), to: width) }.joined(separator: "\n")
    }

    /// Rate and latency over time.
    private var series: String {
        let seconds = result.seconds.filter(\.tellsRates)
        guard seconds.count > 1 else { return "" }
        let rates = seconds.compactMap { $0.perSecond(Double($0.counts.requests.succeeded)) }
        let slowest = seconds.map { Double($0.p99) }
        func line(_ name: String, _ values: [Double], _ most: String, _ merge: ([Double]) -> Double)
            -> String
        {
            let bars = LoadFormat.sparkline(
                values, columns: bars, usesUnicode: usesUnicode, merge: merge)
            return "  \(TextLayout.padded(name, to: 14))  \(bars)  up to \(most)\n"
        }
        let hits = seconds.compactMap(\.counts.cache.hitRatio)
        let cache =
            hits.count < 2
            ? ""
            : line(
                "cache hits", hits, LoadFormat.percent(LoadFormat.most(hits)), LoadFormat.mean)
        let shownRates = LoadFormat.merged(rates, to: bars, LoadFormat.mean)
        return line(
            "rate", rates, Quantity.rate(LoadFormat.most(shownRates)), LoadFormat.mean)
            + line(
                "p99", slowest, LoadFormat.time(microseconds: LoadFormat.most(slowest)),
                LoadFormat.most) + cache
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
                    row.value, width: width - indent, hangingIndent: 0)
                return head
                    + body.split(separator: "\n").joined(
                        separator: "\n" + String(repeating: " ", count: indent)) + "\n"
            }
            let value = head + TextLayout.padded(row.value, to: values, right: true)
            guard !row.remark.isEmpty else { return value + "\n" }
            let indent = TextLayout.width(value) + 2
            let remark = TextLayout.wrapped(row.remark, width: width - indent, hangingIndent: 0)
            return value + "  "
                + remark.split(separator: "\n").joined(
                    separator: "\n" + String(repeating: " ", count: indent)) + "\n"
        }
        return title + "\n" + lines.joined()
    }

    private func list(_ title: String, _ items: [String]) -> String {
        title + "\n"
            + items.map {
                "  - " + TextLayout.wrapped($0, width: width - 4, hangingIndent: 4) + "\n"
            }.joined()
    }

    private func table(_ table: LoadFacts.Table) -> String {
        let fitted = fitted(table)
        let text = TextLayout.table(
            headings: fitted.headings,
            alignments: fitted.headings.indices.map { fitted.text.contains($0) ? .left : .right },
            rows: fitted.rows)
        return fitted.title + "\n" + text.split(separator: "\n").map { "  \($0)\n" }.joined()
    }

    /// Shortens names to 48 columns. If the table is still too wide, it omits the least important
    /// columns and shortens names further.
    private func fitted(_ table: LoadFacts.Table) -> LoadFacts.Table {
        var table = table
        func shorten(to columns: Int) {
            for row in table.rows.indices {
                for column in table.text where column < table.rows[row].count {
                    table.rows[row][column] = TextLayout.middleTruncated(
                        table.rows[row][column], to: columns)
                }
            }
        }
        shorten(to: Self.longestName)
        while table.width > width, let column = table.spare.popLast() { table.remove(column) }
        for columns in stride(from: Self.longestName - 1, through: Self.shortestName, by: -1)
        where table.width > width { shorten(to: columns) }
        return table
    }

    private static let longestName = 48
    private static let shortestName = 12

    /// Lists failures, each with its remedy on a separate line.
    private func failures(_ table: LoadFacts.Table) -> String {
        let codes = table.rows.map { TextLayout.width($0[0]) }.max() ?? 0
        let counts = table.rows.map { TextLayout.width($0[1]) }.max() ?? 0
        return "Errors\n"
            + table.rows.map { row in
                "  \(TextLayout.padded(row[0], to: codes))  "
                    + "\(TextLayout.padded(row[1], to: counts, right: true))  \(row[2])\n      "
                    + TextLayout.wrapped(row[3], width: width - 6, hangingIndent: 6) + "\n"
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

extension LoadFacts.Table {
    /// Width of a line with its indent.
    fileprivate var width: Int {
        headings.indices.reduce(0) { sum, column in
            sum + 2
                + (([headings] + rows).map { TextLayout.width($0[column]) }.max() ?? 0)
        }
    }

    fileprivate mutating func remove(_ column: Int) {
        headings.remove(at: column)
        for row in rows.indices { rows[row].remove(at: column) }
        text = Set(text.filter { $0 != column }.map { $0 > column ? $0 - 1 : $0 })
        spare = spare.filter { $0 != column }.map { $0 > column ? $0 - 1 : $0 }
    }
}
