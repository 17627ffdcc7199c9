extension StateMachine {
    /// Returns the machine as a section of Markdown: a PlantUML diagram and tables.
    ///
    /// - Parameter meanings: Meaning of each state and event by its name, which the generator takes
    ///   from the doc comments.
    package func markdown(
        meanings: (states: [String: String], events: [String: String])
    ) -> String {
        var out = "## \(name.prefix(1).uppercased())\(name.dropFirst())\n\n"
        out += "```plantuml\n@startuml\nhide empty description\n[*] --> \(initial.rawValue)\n"
        for state in State.allCases {
            for target in State.allCases {
                let events = events(from: state, to: target)
                guard !events.isEmpty else { continue }
                out += "\(state.rawValue) --> \(target.rawValue) : "
                out += events.map(\.rawValue).joined(separator: ", ") + "\n"
            }
        }
        for state in terminal { out += "\(state.rawValue) --> [*]\n" }
        out += "@enduml\n```\n\n"

        out += "| state | meaning |\n| --- | --- |\n"
        for state in State.allCases {
            out += "| `\(state.rawValue)` | \(meanings.states[state.rawValue] ?? "") |\n"
        }
        out += "\n| event | meaning | from | to |\n| --- | --- | --- | --- |\n"
        for event in Event.allCases {
            for target in State.allCases {
                let sources = State.allCases.filter { next($0, event) == target }
                guard !sources.isEmpty else { continue }
                let from = sources.map { "`\($0.rawValue)`" }.joined(separator: ", ")
                let meaning = meanings.events[event.rawValue] ?? ""
                out += "| `\(event.rawValue)` | \(meaning) | \(from) | `\(target.rawValue)` |\n"
            }
        }
        return out
    }

    /// Returns the events that lead from one state to another, in declaration order.
    package func events(from state: State, to target: State) -> [Event] {
        Event.allCases.filter { next(state, $0) == target }
    }
}
