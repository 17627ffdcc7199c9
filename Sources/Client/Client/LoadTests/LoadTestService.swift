package import LoadModel
import Model
import Services
import Synchronization

/// Checks a test's targets, shows the notice about public addresses, and runs the test. It is a
/// service, so that a signal ends it in order.
package final class LoadTestService: DrainableService {
    package let name = "load test"
    private let scenario: LoadScenario
    private let mode: LoadTestSession.Mode
    private let backend: any LoadBackend
    private let isConfirmed: Bool
    private let display: LoadTestDisplay
    private let metrics: LoadMetrics
    private let pause: Pause
    private let errorForUser: @Sendable (any Error) -> any Error
    private let state = Mutex(State())

    private struct State {
        var running: Task<Void, any Error>?
        var outcome: LoadTestSession.Outcome?
    }

    /// Waits for some seconds; throws if cancelled.
    package typealias Pause = @Sendable (_ seconds: Double) async throws -> Void

    /// - Parameters:
    ///   - isConfirmed: true to start a load to public addresses without the pause.
    ///   - pause: waits before such a load, and before a further try of a search.
    ///   - errorForUser: converts an error of the scenario to one for the user.
    package init(
        _ scenario: LoadScenario, _ mode: LoadTestSession.Mode, _ backend: any LoadBackend,
        isConfirmed: Bool, _ display: LoadTestDisplay, _ metrics: LoadMetrics,
        pause: @escaping Pause = { try await Task.sleep(for: .seconds($0)) },
        errorForUser: @escaping @Sendable (any Error) -> any Error = { $0 }
    ) {
        self.scenario = scenario
        self.mode = mode
        self.backend = backend
        self.isConfirmed = isConfirmed
        self.display = display
        self.metrics = metrics
        self.pause = pause
        self.errorForUser = errorForUser
    }

    /// The result; nil if the test did not run.
    package var outcome: LoadTestSession.Outcome? { state.withLock { $0.outcome } }

    package func run() async throws {
        let task = Task { try await prepareAndRun() }
        state.withLock { $0.running = task }
        do {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            // Stopped before the load started: no failure.
            guard task.isCancelled, Self.isCancellation(error) else { throw error }
        }
    }

    private static func isCancellation(_ error: any Error) -> Bool {
        error is CancellationError || (error as? Failure)?.code == .workerCancelled
    }

    /// Ends the load at once; workers of a cluster take a moment to report their results.
    package func drain() async { state.withLock { $0.running }?.cancel() }

    private func prepareAndRun() async throws {
        let ready: PreparedLoad
        do { ready = try await backend.prepare(scenario) } catch { throw errorForUser(error) }
        try Task.checkCancellation()
        try await notify(of: ready.publicHosts)
        let session = LoadTestSession(
            ready.scenario, mode, ready.runner,
            onStep: { [display, metrics] step, scenario in
                display.begin(step, scenario)
                metrics.begin(scenario)
            },
            follower: { [display, metrics, backend] interval, result in
                display.show(interval, result, cores: backend.generators.cores)
                metrics.take(interval, result)
            },
            onChange: { [display, metrics] scenario in
                display.change(to: scenario)
                metrics.change(to: scenario)
            }, pause: pause)
        defer { metrics.end() }
        // Without it, the load cannot be changed, but the test can run.
        let control = try? LoadControl { text in try await LoadControl.change(session, text) }
        defer { control?.close() }
        try await session.run()
        let outcome = session.outcome
        state.withLock { $0.outcome = outcome }
    }

    package func stop() async { backend.close() }

    private func notify(of hosts: [(host: String, address: String)]) async throws {
        let mode: PublicNotice.Mode =
            switch mode {
            case .once: .once
            case .search(_, let most, _): .search(most: most)
            case .scale(let workers): .scale(workers)
            }
        guard let text = PublicNotice.text(hosts, scenario, mode) else { return }
        Console.note(text)
        guard !isConfirmed else { return }
        Console.note("it starts in 5 s; press Ctrl-C to send no load, use --yes not to wait")
        try await pause(PublicNotice.seconds)
        try Task.checkCancellation()
    }
}
