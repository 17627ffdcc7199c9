/// A state machine as a table: every transition there is, and nothing else.
///
/// SQL guards, CHECK constraints, the API's allowed actions and `docs/states.md` derive from the
/// tables; code that is about to change a state asks one.
package struct StateMachine<State, Event>: Sendable
where
    State: Hashable & CaseIterable & RawRepresentable & Sendable, State.RawValue == String,
    Event: Hashable & CaseIterable & RawRepresentable & Sendable, Event.RawValue == String
{
    package typealias Table = [State: [Event: State]]

    /// What the machine is of: "asset", "segment", "transfer".
    package let name: String
    package let initial: State
    package let table: Table

    package init(name: String, initial: State, table: Table) {
        self.name = name
        self.initial = initial
        self.table = table
    }

    /// The state after `event`, or nil when the event is not allowed in `state`.
    package func next(_ state: State, _ event: Event) -> State? { table[state]?[event] }

    /// States in which `event` is allowed, in declaration order; what an SQL guard lists.
    package func sources(of event: Event) -> [State] {
        State.allCases.filter { table[$0]?[event] != nil }
    }

    /// States that no event leaves.
    package var terminal: [State] {
        State.allCases.filter { table[$0]?.isEmpty ?? true }
    }
}
