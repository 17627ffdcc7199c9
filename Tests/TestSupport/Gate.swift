internal import Foundation

/// A gate at which a fixture's thread waits until the test opens it: slowness without sleeping.
package final class Gate: Sendable {
    // Unchecked because of NSCondition: `isOpen` and `waiting` are accessed only under its lock.
    private final class State: @unchecked Sendable {
        let condition = NSCondition()
        var isOpen = false
        var waiting = 0
    }

    private let state = State()

    /// Maximum wait in seconds, after which the fixture continues, so that no test hangs.
    private static let limitSeconds: Double = 120

    package init() {}

    /// Releases all current and later threads.
    package func open() {
        state.condition.withLock {
            state.isOpen = true
            state.condition.broadcast()
        }
    }

    /// Number of waiting threads.
    package var waiting: Int { state.condition.withLock { state.waiting } }

    /// Waits until a thread waits at the gate.
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
