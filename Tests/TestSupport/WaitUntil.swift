internal import Glibc

/// The condition did not become true in time.
package struct DeadlinePassed: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Polls until `condition` holds; throws `DeadlinePassed` when it does not in time.
///
/// The only place in the tests that polls: for what another process does, where there is nothing to
/// wait on. Everything else waits for an event.
package func waitUntil(
    deadlineSeconds: Double, _ what: String = "the condition",
    _ condition: () async throws -> Bool
) async throws {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(deadlineSeconds)
    while try await !condition() {
        guard clock.now < deadline else {
            throw DeadlinePassed("\(what) did not hold within \(deadlineSeconds) s")
        }
        try await clock.sleep(for: .milliseconds(5))
    }
}

/// `waitUntil` for code that cannot await; blocks its thread.
func blockUntil(
    deadlineSeconds: Double, _ what: String, _ condition: () throws -> Bool
) throws {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(deadlineSeconds)
    while try !condition() {
        guard clock.now < deadline else {
            throw DeadlinePassed("\(what) did not hold within \(deadlineSeconds) s")
        }
        // Between two looks, up to the deadline.
        usleep(5_000)
    }
}
