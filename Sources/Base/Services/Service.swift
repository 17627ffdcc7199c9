/// One long-running part of a process, started, run and stopped by a `ServiceGroup`.
package protocol Service: Sendable {
    /// Names the service in logs: `postgresql`, `coordinator`, `worker-2`.
    var name: String { get }

    /// Makes the service ready; the next stage starts only after it returned.
    ///
    /// A service whose `start` threw or was cancelled gets no `stop`: it cleans up by itself.
    func start() async throws

    /// Works until there is nothing more to do, or its task is cancelled.
    ///
    /// When it returns, or throws, the whole group is stopped.
    func run() async throws

    /// Gives back what `start` took; called after `run` has ended, also after a failure.
    func stop() async
}

extension Service {
    package func start() async throws {}
    package func stop() async {}
}

/// A service that can be asked to finish what it is doing instead of being cancelled.
package protocol DrainableService: Service {
    /// Asks `run` to return as soon as the work in hand is done. Returns without waiting for that.
    func drain() async
}
