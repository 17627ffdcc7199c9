import Synchronization

/// Elements that several tasks take, each one once.
final class Shared<Element: Sendable>: Sendable {
    private let rest: Mutex<ArraySlice<Element>>

    init(_ elements: [Element]) { rest = Mutex(elements[...]) }

    /// Returns the next element; nil if none is left.
    func next() -> Element? { rest.withLock { $0.popFirst() } }
}
