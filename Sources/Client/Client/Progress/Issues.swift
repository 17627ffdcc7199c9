/// Reports each failure that blocks a catalog once, and its end.
struct Issues {
    /// A failure that the coordinator reports.
    struct Issue {
        var text: String
        /// Message at the failure's end. Failures with the same message are of one kind.
        var relief: String
    }

    enum Line: Hashable {
        case issue(String)
        case relief(String)
    }

    /// The reason for which the coordinator does not answer; nil while it does.
    private var silence: String?
    /// The failure in its last answer.
    private var issue: Issue?

    /// The present failure.
    var text: String? { silence ?? issue?.text }

    mutating func noAnswer(_ text: String) -> [Line] {
        defer { silence = text }
        return silence == nil ? [.issue(text)] : []
    }

    /// - Parameter isOver: true if the catalog runs or is completed, so that a previous failure has
    ///   ended. One that failed or was cancelled ended with its failure.
    mutating func answer(_ now: Issue?, isOver: Bool) -> [Line] {
        var lines: [Line] = []
        let wasSilent = silence != nil
        silence = nil
        if wasSilent { lines.append(.relief("the coordinator answers again")) }
        if let now, wasSilent || now.relief != issue?.relief {
            // Repeated after a silence: otherwise its end would look like the end of this failure.
            lines.append(.issue(now.text))
        } else if now == nil, let issue, isOver {
            lines.append(.relief(issue.relief))
        }
        issue = now
        return lines
    }
}
