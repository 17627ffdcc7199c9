/// Reports each failure that blocks a catalog once, and its end.
struct Troubles {
    /// A failure that the coordinator reports.
    struct Trouble {
        var text: String
        /// Message at the failure's end. Failures with the same message are of one kind.
        var relief: String
    }

    enum Line: Hashable {
        case trouble(String)
        case relief(String)
    }

    /// The reason for which the coordinator does not answer; nil while it does.
    private var silence: String?
    /// The failure in its last answer.
    private var trouble: Trouble?

    /// The present failure.
    var text: String? { silence ?? trouble?.text }

    mutating func noAnswer(_ text: String) -> [Line] {
        defer { silence = text }
        return silence == nil ? [.trouble(text)] : []
    }

    /// - Parameter isOver: true if the catalog runs or is completed, so that a previous failure has
    ///   ended. One that failed or was cancelled ended with its failure.
    mutating func answer(_ now: Trouble?, isOver: Bool) -> [Line] {
        var lines: [Line] = []
        let wasSilent = silence != nil
        silence = nil
        if wasSilent { lines.append(.relief("the coordinator answers again")) }
        if let now, wasSilent || now.relief != trouble?.relief {
            // Repeated after a silence: otherwise its end would look like the end of this failure.
            lines.append(.trouble(now.text))
        } else if now == nil, let trouble, isOver {
            lines.append(.relief(trouble.relief))
        }
        trouble = now
        return lines
    }
}
