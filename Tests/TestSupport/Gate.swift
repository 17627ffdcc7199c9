internal import Foundation

/// A door that a fixture's thread waits at until the test opens it: slowness without sleeping.
package final class Gate: Sendable {
    // Unchecked by nature of NSCondition: `isOpen` and `waiting` are touched under its lock only.
    private final class State: @unchecked Sendable {
        let condition = NSCondition()
        var isOpen = false
        var waiting = 0
    }

    private let state = State()

    /// A fixture that waits longer than this goes on by itself, so that no test hangs.
    private static let limitSeconds: Double = 120

    package init() {}

    /// Lets everybody through, now and later.
    package func open() {
        state.condition.withLock {
            state.isOpen = true
            state.condition.broadcast()
        }
    }

    /// How many threads stand at the gate.
    package var waiting: Int { state.condition.withLock { state.waiting } }

    /// Waits until some thread stands at the gate.
    package func waitUntilReached(deadlineSeconds: Double = 30) async throws {
        try await waitUntil(deadlineSeconds: deadlineSeconds, "arrival at the gate") {
            waiting > 0
        }
    }

    /// Blocks the calling thread until the gate is open.
    func pass() {
        let deadline = Date(timeIntervalSinceNow: Self.limitSeconds)
        state.condition.withLock {
            state.waiting += 1
            while !state.isOpen, state.condition.wait(until: deadline) {}
            state.waiting -= 1
        }
    }
}
