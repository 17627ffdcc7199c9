/// Waits for the first of several waits and cancels the others, which must then end.
package func waitForFirst(of waits: (@Sendable () async -> Void)...) async {
    await withTaskGroup(of: Void.self) { group in
        for wait in waits { group.addTask { await wait() } }
        await group.next()
        group.cancelAll()
    }
}

/// Waits at most `duration`. Returns true if `wait` ended by itself; after that time it is
/// cancelled, and must then end.
@discardableResult
package func waitAtMost(
    _ duration: Duration, clock: some Clock<Duration> = ContinuousClock(),
    for wait: @escaping @Sendable () async -> Void
) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
        group.addTask {
            await wait()
            return true
        }
        group.addTask {
            try? await clock.sleep(for: duration)
            return false
        }
        defer { group.cancelAll() }
        return await group.next() ?? false
    }
}
