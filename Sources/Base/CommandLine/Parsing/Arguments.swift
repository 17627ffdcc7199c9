/// A checked command line.
package struct Arguments: Sendable {
    /// Operands in the order of their declaration.
    package internal(set) var operands: [String] = []
    package internal(set) var values: [String: [String]] = [:]
    /// The origin of each value; nil for the command line.
    private var origins: [String: ValueOrigin] = [:]
    /// Flags that the command line sets to false.
    private(set) var denied: Set<String> = []

    package init() {}

    /// Returns where an option's value comes from; nil if it has none.
    package func origin(of name: String) -> ValueOrigin? {
        if denied.contains(name) { return .commandLine }
        return values[name] == nil ? nil : origins[name] ?? .commandLine
    }

    /// Sets an option that the command line leaves open.
    package mutating func set(_ name: String, _ texts: [String], from origin: ValueOrigin) {
        guard self.origin(of: name) == nil else { return }
        values[name] = texts
        origins[name] = origin
    }

    mutating func deny(_ name: String) { denied.insert(name) }

    package func flag(_ name: String) -> Bool { values[name] != nil }
    /// Returns the option's value; the last one if it was given repeatedly.
    package func text(_ name: String) -> String? { values[name]?.last }
    package func texts(_ name: String) -> [String] { values[name] ?? [] }
    /// Returns the option's value, one of the words that the parser allowed.
    package func choice<Value: RawRepresentable<String>>(
        _ name: String, _: Value.Type = Value.self
    ) -> Value? {
        text(name).flatMap { Value(rawValue: $0) }
    }
    /// Returns the option's value, which the parser checked against its range.
    package func integer(_ name: String) -> Int? { text(name).flatMap { Int($0) } }
    /// Returns the option's value, which the parser checked against its range.
    package func number(_ name: String) -> Double? { text(name).flatMap { Double($0) } }
}
