package import API
package import CommandLine
package import CoordinatorClient
import Model
import Services
import Synchronization
import Text

/// Prints events as they come, and ends with the catalog that it watches.
///
/// It is a service. A lost connection is opened again at the last cursor, so that no event is missed
/// and none is printed twice.
package final class WatchSession: DrainableService {
    package let name = "watch"

    package struct Plan: Sendable {
        package var query = EventQuery()
        /// The event to begin after; nil for now, or for `query.since`.
        package var after: String?
        /// True to continue after the end of the catalog.
        package var isEndless = false
        package var printsJSON = false

        package init() {}
    }

    private let plan: Plan
    private let makeClient: @Sendable () throws -> CoordinatorClient
    /// Prints a line.
    private let write: @Sendable (String) -> Void
    private let draining = ShutdownSignal()
    private let state = Mutex(State())

    private struct State {
        var work: Task<ExitCode?, any Error>?
        var exitCode: ExitCode?
    }

    package init(
        _ plan: Plan, write: @escaping @Sendable (String) -> Void = { Console.write($0) },
        makeClient: @escaping @Sendable () throws -> CoordinatorClient
    ) {
        self.plan = plan
        self.write = write
        self.makeClient = makeClient
    }

    /// The exit code that the catalog's end determines; nil if it has not ended.
    package var exitCode: ExitCode? { state.withLock { $0.exitCode } }

    package func drain() async {
        draining.trigger()
        state.withLock { $0.work }?.cancel()
    }

    package func run() async throws {
        let client = try makeClient()
        defer { client.shutdown() }
        let task = Task { try await self.watch(client) }
        state.withLock { $0.work = task }
        if draining.isDraining { task.cancel() }
        do {
            let code = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
            state.withLock { $0.exitCode = code }
        } catch {
            // A failure after draining started was caused by it.
            guard draining.isDraining else { throw error }
        }
    }

    /// Watches until the catalog has ended, and returns its exit code; nil if draining started first.
    private func watch(_ client: CoordinatorClient) async throws -> ExitCode? {
        // An absent cluster is retried only briefly: its name may be mistyped.
        try await client.readiness(retrySeconds: 3)
        var cursor = plan.after
        if plan.after == nil, plan.query.since == nil {
            cursor = try await client.eventPage(query, after: "now").next
        } else {
            try await printPages(from: &cursor, client)
        }
        var problem: FailureCode?
        var hasConnected = false
        while !draining.isDraining, !Task.isCancelled {
            do {
                // After the cursor: an end that is not seen here is among the events to come.
                if let code = try await conclusion(client) {
                    try await printPages(from: &cursor, client)
                    if !hasConnected, plan.query.since == nil, plan.after == nil {
                        Console.note("the catalog has ended; add --since 1d to print its events")
                    }
                    return code
                }
                hasConnected = true
                for try await update in client.events(query, after: cursor ?? "now") {
                    problem = nil
                    switch update {
                    case .position(let id): cursor = id
                    case .event(let event):
                        cursor = event.id
                        try show(event)
                        if isEnd(event), let code = try await conclusion(client) { return code }
                    }
                }
            } catch let failure as Failure where Self.isTransient(failure.code) {
                if failure.code != problem { note(failure) }
                problem = failure.code
            }
            _ = await draining.wait(atMost: Self.pause)
        }
        return nil
    }

    /// The events to ask for: of a catalog that is watched to its end, also its own.
    private var query: EventQuery {
        var query = plan.query
        if endsWithCatalog, !query.kinds.isEmpty { query.kinds.append("catalog") }
        return query
    }

    private var endsWithCatalog: Bool { !plan.isEndless && plan.query.catalog != nil }

    /// Time until a lost connection is opened again.
    private static let pause = Duration.seconds(1)

    private static func isTransient(_ code: FailureCode) -> Bool {
        code.isOfUnavailableCluster || code == .clusterSlowReader
    }

    private func note(_ failure: Failure) {
        guard !draining.isDraining else { return }
        Console.note("\(printable(failure.message)) (\(failure.code)); retrying")
    }

    /// Prints all events after a cursor that can be read now, and moves the cursor.
    private func printPages(
        from cursor: inout String?, _ client: CoordinatorClient
    ) async throws {
        while true {
            let page = try await client.eventPage(query, after: cursor)
            for event in page.events { try show(event) }
            cursor = page.next
            guard page.hasMore else { return }
            try Task.checkCancellation()
        }
    }

    private func show(_ event: ClusterEvent) throws {
        let kinds = plan.query.kinds
        guard
            kinds.isEmpty || kinds.contains(event.kind.rawValue)
                || kinds.contains(String(event.kind.subject))
        else { return }
        write(plan.printsJSON ? try EventLine.json(event) : EventLine.text(event))
    }

    /// True for an event after which the catalog may have ended.
    private func isEnd(_ event: ClusterEvent) -> Bool {
        event.kind.subject == "catalog" && event.kind.rawValue != "catalog.running"
    }

    /// Returns the exit code of the catalog if it has ended and is to be watched to its end.
    private func conclusion(_ client: CoordinatorClient) async throws -> ExitCode? {
        guard endsWithCatalog, let catalog = plan.query.catalog else { return nil }
        return ExitCode(endOf: try await client.status(of: catalog))
    }
}

extension ExitCode {
    /// The exit code of a catalog that has ended; nil for one that has not.
    init?(endOf status: CatalogStatus) {
        switch status.state {
        case .completed, .removed: self = status.missedDeadline ? .deadlineMissed : .success
        case .failed: self = .someFailed
        case .cancelled: self = .cancelled
        case .interrupted: self = .interrupted
        case .open, .running: return nil
        }
    }
}
