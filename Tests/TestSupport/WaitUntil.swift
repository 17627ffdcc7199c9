internal import Glibc

/// The condition did not become true in time.
package struct DeadlinePassed: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Polls until `condition` holds; throws `DeadlinePassed` if it does not in time.
///
/// The only polling in the tests: for effects of other processes, which give no event to wait for.
/// Everything else waits for events.
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
        // Between two checks, up to the deadline.
        try await clock.sleep(for: .milliseconds(5))
    }
}

/// `waitUntil` for code that cannot await; blocks its thread.
package func blockUntil(
    deadlineSeconds: Double, _ what: String, _ condition: () throws -> Bool
) throws {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(deadlineSeconds)
    while try !condition() {
        guard clock.now < deadline else {
            throw DeadlinePassed("\(what) did not hold within \(deadlineSeconds) s")
        }
        // Between two checks, up to the deadline.
        usleep(5_000)
    }
}
