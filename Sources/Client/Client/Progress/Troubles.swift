/// Why nothing of a catalog goes on: what of it is told, once each, and what is told of its end.
struct Troubles {
    /// A failure that the coordinator reports.
    struct Trouble {
        var text: String
        /// The message at its end. Failures with the same message are of one kind.
        var relief: String
    }

    enum Line: Hashable {
        case trouble(String)
        case relief(String)
    }

    /// Why the coordinator does not answer; nil while it does.
    private var silence: String?
    /// As it last answered.
    private var trouble: Trouble?

    /// The present failure.
    var text: String? { silence ?? trouble?.text }

    mutating func noAnswer(_ text: String) -> [Line] {
        defer { silence = text }
        return silence == nil ? [.trouble(text)] : []
    }

    /// - Parameter isOver: without a trouble now, the former one is over: the catalog runs or is completed. One that
    ///   failed or was cancelled ended with its trouble.
    mutating func answer(_ now: Trouble?, isOver: Bool) -> [Line] {
        var lines: [Line] = []
        let wasSilent = silence != nil
        silence = nil
        if wasSilent { lines.append(.relief("the coordinator answers again")) }
        if let now, wasSilent || now.relief != trouble?.relief {
            // Anew after a silence: else its end would look like the end of this.
            lines.append(.trouble(now.text))
        } else if now == nil, let trouble, isOver {
            lines.append(.relief(trouble.relief))
        }
        trouble = now
        return lines
    }
}
