/// A long-running part of a process, which a `ServiceGroup` starts, runs and stops.
package protocol Service: Sendable {
    /// Name for logs: `postgresql`, `coordinator`, `worker-2`.
    var name: String { get }

    /// Prepares the service; the next stage starts only after it returned.
    ///
    /// If `start` threw or was cancelled, `stop` is not called: `start` cleans up itself.
    func start() async throws

    /// Runs until it is finished, or its task is cancelled.
    ///
    /// When it returns or throws, the whole group is stopped.
    func run() async throws

    /// Releases what `start` acquired; called after `run` has ended, also after a failure.
    func stop() async
}

extension Service {
    package func start() async throws {}
    package func stop() async {}
}

/// A service that can finish its work instead of being cancelled.
package protocol DrainableService: Service {
    /// Requests that `run` returns once current work is done. Returns without waiting for that.
    func drain() async
}
