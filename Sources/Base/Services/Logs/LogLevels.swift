/// The least severe level of each component whose lines are written.
package struct LogLevels: Hashable, Sendable {
    /// The level of components without their own.
    package var standard: LogLevel
    package var byComponent: [String: LogLevel]

    package init(_ standard: LogLevel, byComponent: [String: LogLevel] = [:]) {
        self.standard = standard
        self.byComponent = byComponent
    }

    /// Parses `warning`, `queue=debug` or `info,queue=debug,worker=error`; nil for other text.
    ///
    /// - Parameter standard: the level of other components if the text has none.
    package init?(_ text: String, standard: LogLevel) {
        self.init(standard)
        var hasStandard = false
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(separator: "=", omittingEmptySubsequences: false)
            guard let name = words.last, let level = LogLevel(name: String(name)) else {
                return nil
            }
            if words.count == 1, !hasStandard {
                self.standard = level
                hasStandard = true
            } else if words.count == 2, !words[0].isEmpty, byComponent[String(words[0])] == nil {
                byComponent[String(words[0])] = level
            } else {
                return nil
            }
        }
    }

    package func writes(_ level: LogLevel, of component: String) -> Bool {
        level >= byComponent[component] ?? standard
    }
}
