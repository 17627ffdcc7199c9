extension FailureCode {
    /// Titles of the groups, by hundreds of the number.
    private static let groups: [(hundreds: Int, title: String)] = [
        (1, "Input: what the caller gave"),
        (2, "Origin: the origin and the way to it"),
        (3, "Content and integrity: what came is not what was wanted"),
        (4, "Manifest"),
        (5, "Storage at the site"),
        (6, "Worker and lease"),
        (7, "Cluster"),
        (9, "Unknown"),
    ]

    /// The table as Markdown: a section a group, a row a code.
    package static func markdown() -> String {
        groups.map { group in
            let rows = (table + [unknownRow]).filter { $0.number / 100 == group.hundreds }
            return "## \(group.title)\n\n"
                + "| number | code | tried again | what to do |\n| --- | --- | --- | --- |\n"
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
        case .siteFault: "until the site works; uses up no attempt"
        case .waitsForRoom: "every minute, until there is room for it; uses up no attempt"
        }
    }
}
