extension FailureCode {
    /// Titles of the groups, by hundreds of the number.
    private static let groups: [(hundreds: Int, title: String)] = [
        (1, "Input"),
        (2, "Origin and network"),
        (3, "Content and integrity: the bytes are not as expected"),
        (4, "Manifest"),
        (5, "Storage at the site"),
        (6, "Worker and lease"),
        (7, "Cluster"),
        (9, "Unknown"),
    ]

    /// Returns the table as Markdown: a section per group, a row per code.
    package static func markdown() -> String {
        groups.map { group in
            let rows = (table + [unknownRow]).filter { $0.number / 100 == group.hundreds }
            return "## \(group.title)\n\n| number | code | automatic action | what to do |\n"
                + "| --- | --- | --- | --- |\n"
                + rows.map { row in
                    "| \(row.number) | `\(row.code)` | \(row.code.remedy) | \(row.hint) |\n"
                }.joined()
        }.joined(separator: "\n")
    }
}
