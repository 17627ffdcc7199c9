extension MetricRegistry {
    /// Returns a table of the metrics, for a page.
    package func markdown() -> String {
        var page =
            "| metric | type | labels | series | meaning |\n| --- | --- | --- | --- | --- |\n"
        for family in families {
            let labels = family.labels.map { "`\($0)`" }.joined(separator: ", ")
            let series =
                family.labels.isEmpty || family.kind == .info ? "1" : "≤ \(family.maxSeries)"
            page +=
                "| `\(family.sampleName)` | \(family.kind.rawValue) | \(labels) | \(series) | "
                + "\(family.help) |\n"
        }
        return page
    }
}
