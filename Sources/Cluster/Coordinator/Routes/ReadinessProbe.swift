import JobQueue

/// Checks that the database answers, once for all waiting requests: requests of closed connections
/// leave no queries behind.
actor ReadinessProbe {
    private let queue: JobQueue
    private var underWay: Task<Bool, Never>?

    init(queue: JobQueue) { self.queue = queue }

    func isReady() async -> Bool {
        if let underWay { return await underWay.value }
        let probe = Task { [queue] in (try? await queue.jobs.claims.hasWork()) != nil }
        underWay = probe
        let isReady = await probe.value
        underWay = nil
        return isReady
    }
}
