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
            return "## \(group.title)\n\n| number | code | retried | what to do |\n| --- | --- "
                + "| --- | --- |\n"
                + rows.map { row in
                    "| \(row.number) | `\(row.code)` | \(row.retry.markdown) | \(row.hint) |\n"
                }.joined()
        }.joined(separator: "\n")
    }
}

extension FailureRow.Retry {
    fileprivate var markdown: String {
        switch self {
        case .never: "no"
        case .attempts(let count): "up to \(count) attempts"
        case .siteFault: "until the site works; does not count as an attempt"
        case .waitsForSpace: "every minute until there is space; does not count as an attempt"
        }
    }
}
