/// Lets up to a number of tasks work at a time; the others wait in the order in which they came.
actor Turns {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) {
        precondition(count > 0)
        free = count
    }

    /// Runs `work` when it is its turn.
    func take<Value: Sendable>(
        _ work: @Sendable () async throws -> Value
    ) async rethrows -> Value {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
        defer {
            if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
        }
        return try await work()
    }
}
