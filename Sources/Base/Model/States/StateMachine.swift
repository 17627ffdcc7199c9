/// A state machine as a table of all its transitions.
///
/// SQL guards, CHECK constraints, the API's allowed actions and `docs/states.md` derive from the
/// tables; code looks a transition up before a state changes.
package struct StateMachine<State, Event>: Sendable
where
    State: Hashable & CaseIterable & RawRepresentable & Sendable, State.RawValue == String,
    Event: Hashable & CaseIterable & RawRepresentable & Sendable, Event.RawValue == String
{
    package typealias Table = [State: [Event: State]]

    /// Name of the machine's subject: "asset", "segment", "transfer".
    package let name: String
    package let initial: State
    package let table: Table

    package init(name: String, initial: State, table: Table) {
        self.name = name
        self.initial = initial
        self.table = table
    }

    /// Returns the state after `event`, or nil if `state` does not allow the event.
    package func next(_ state: State, _ event: Event) -> State? { table[state]?[event] }

    /// Returns the states that allow `event`, in declaration order, for SQL guards.
    package func sources(of event: Event) -> [State] {
        State.allCases.filter { table[$0]?[event] != nil }
    }

    /// Returns the states that one of the `events` leads to, in declaration order, for SQL guards.
    package func targets(of events: Event...) -> [State] {
        let targets = Set(table.values.flatMap { row in events.compactMap { row[$0] } })
        return State.allCases.filter(targets.contains)
    }

    /// Returns the state that `event` leads to from each state that allows it; nil if there are several.
    package func target(of event: Event) -> State? {
        let targets = targets(of: event)
        return targets.count == 1 ? targets.first : nil
    }

    /// States that no event leaves.
    package var terminal: [State] {
        State.allCases.filter { table[$0]?.isEmpty ?? true }
    }
}
