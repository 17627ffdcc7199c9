import EventLoop
import Glibc

/// Runs services and stops them in order.
///
/// Stages start one after the other, the services of a stage together. The group ends when a
/// service's `run` returns or throws, or at the first signal. Then the stages are stopped in
/// reverse. Drainable services drain within the grace period; all others are cancelled, as are
/// those that are still running after it. Then `stop` is called. A second signal ends the grace
/// period at once.
package final class ServiceGroup: Sendable {
    /// The end of a group.
    package enum Ending: Sendable, Equatable {
        /// A service's `run` returned.
        case finished
        /// A signal stopped it; `isForced` is true if a second one interrupted the draining.
        case signalled(Int32, isForced: Bool)
    }

    private enum Event: Sendable {
        case signal(Int32)
        case started((any Error)?)
        case ended(name: String, (any Error)?)
        case stopped
    }

    /// A service whose `run` is running.
    private struct Running: Sendable {
        let service: any Service
        let task: Task<Void, Never>
        let isOver: ShutdownSignal
    }

    private let stages: [[any Service]]
    private let grace: Duration
    private let signals: AsyncStream<Int32>
    /// Time that a cancelled `run` may take to return before the group continues without it.
    private let cancellationGrace = Duration.seconds(5)
    private let hurry = ShutdownSignal()
    private let log = Logger("runtime")

    /// Creates a group. `signals` yields received signals: `ProcessSignals.stream()`, or a test's.
    /// `graceSeconds` bounds the draining of all stages together.
    package init(
        stages: [[any Service]], graceSeconds: Double, signals: AsyncStream<Int32>
    ) {
        precondition(graceSeconds >= 0)
        self.stages = stages
        grace = .seconds(graceSeconds)
        self.signals = signals
    }

    /// Runs until all services have stopped. Throws the first error of a `start` or `run`.
    package func run() async throws -> Ending {
        let (events, sender) = AsyncStream.makeStream(of: Event.self)
        let running = RunningStages()
        let listener = Task { for await number in signals { sender.yield(.signal(number)) } }
        defer { listener.cancel() }
        let starter = Task {
            do {
                try await start(into: running) { sender.yield(.ended(name: $0, $1)) }
                sender.yield(.started(nil))
            } catch {
                sender.yield(.started(error))
            }
        }
        var firstSignal: Int32?
        var failure: (any Error)?
        var isStopping = false
        for await event in events {
            var beginsStop = false
            switch event {
            case .signal(let number):
                if firstSignal != nil {
                    log.warning("stopping at once", ["signal": number])
                    hurry.trigger()
                } else {
                    log.info("draining", ["signal": number])
                    firstSignal = number
                    beginsStop = true
                }
            case .started(let error):
                if let error, !isStopping { failure = failure ?? error }
                beginsStop = error != nil
            case .ended(let name, let error):
                if let error, !isStopping {
                    failure = failure ?? error
                } else if let error, !(error is CancellationError) {
                    log.warning(
                        "service failed while stopping", ["service": name, "error": "\(error)"])
                }
                beginsStop = true
            case .stopped:
                if let failure { throw failure }
                return firstSignal.map { .signalled($0, isForced: hurry.isDraining) } ?? .finished
            }
            if beginsStop, !isStopping {
                isStopping = true
                starter.cancel()
                Task {
                    await starter.value
                    await stop(running)
                    sender.yield(.stopped)
                }
            }
        }
        throw CancellationError()
    }

    /// The started services by stage. Only the starter writes, and the stopper reads after the
    /// starter has ended.
    private actor RunningStages {
        private(set) var stages: [[Running]] = []

        func append(_ stage: [Running]) { stages.append(stage) }
    }

    private func start(
        into running: RunningStages,
        ended: @escaping @Sendable (String, (any Error)?) -> Void
    ) async throws {
        for stage in stages {
            let results = await withTaskGroup(of: (Int, (any Error)?).self) { group in
                for (index, service) in stage.enumerated() {
                    group.addTask {
                        do {
                            try await service.start()
                            return (index, nil)
                        } catch {
                            return (index, error)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let started = results.filter { $0.1 == nil }.map(\.0).sorted()
            await running.append(started.map { launch(stage[$0], ended: ended) })
            if let error = results.compactMap(\.1).first { throw error }
            try Task.checkCancellation()
        }
    }

    private func launch(
        _ service: any Service, ended: @escaping @Sendable (String, (any Error)?) -> Void
    ) -> Running {
        log.debug("service started", ["service": service.name])
        let isOver = ShutdownSignal()
        let task = Task {
            do {
                try await service.run()
                isOver.trigger()
                ended(service.name, nil)
            } catch {
                isOver.trigger()
                ended(service.name, error)
            }
        }
        return Running(service: service, task: task, isOver: isOver)
    }

    private func stop(_ running: RunningStages) async {
        let deadline = ContinuousClock.now + grace
        for stage in await running.stages.reversed() {
            await withTaskGroup(of: Void.self) { group in
                for one in stage { group.addTask { await self.stop(one, deadline: deadline) } }
            }
        }
    }

    private func stop(_ one: Running, deadline: ContinuousClock.Instant) async {
        if !one.isOver.isDraining, let drainable = one.service as? any DrainableService {
            await drainable.drain()
            await waitForEnd(of: one, until: deadline)
        }
        if !one.isOver.isDraining {
            one.task.cancel()
            if await !one.isOver.wait(atMost: cancellationGrace) {
                log.error("service does not stop", ["service": one.service.name])
            }
        }
        await one.service.stop()
        log.debug("service stopped", ["service": one.service.name])
    }

    /// Waits until `run` has ended, the deadline passed, or a second signal arrived.
    private func waitForEnd(of one: Running, until deadline: ContinuousClock.Instant) async {
        await waitAtMost(deadline - .now) {
            await waitForFirst(of: { await one.isOver.wait() }, { await self.hurry.wait() })
        }
    }
}
