/// Waits for the first of several waits and cancels the others, which must then end.
package func waitForFirst(of waits: (@Sendable () async -> Void)...) async {
    await waitForFirst(of: waits)
}

/// Does the same for any number of waits; without one it returns at once.
package func waitForFirst(of waits: [@Sendable () async -> Void]) async {
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
    await result(within: duration, clock: clock) { await wait() } != nil
}

/// Returns the result of `work`; nil if it takes longer than `duration`. It is then cancelled, and
/// must end.
package func result<Value: Sendable, Failed: Error>(
    within duration: Duration, clock: some Clock<Duration> = ContinuousClock(),
    of work: @escaping @Sendable () async throws(Failed) -> Value
) async throws(Failed) -> Value? {
    let result = await withTaskGroup(of: Result<Value, Failed>?.self) { group in
        group.addTask {
            do throws(Failed) {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }
        group.addTask {
            try? await clock.sleep(for: duration)
            return nil
        }
        defer { group.cancelAll() }
        return await group.next() ?? nil
    }
    return try result?.get()
}
