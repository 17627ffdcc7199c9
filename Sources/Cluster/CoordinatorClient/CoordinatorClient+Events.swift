package import API
package import Model
import Synchronization

/// An element of a stream of events.
package enum EventUpdate: Sendable {
    case event(ClusterEvent)
    /// The position, where no event was.
    case position(String)
}

/// Requests for events.
extension CoordinatorClient {
    /// Returns a page of events after a cursor, the oldest first: nil for all that are kept, `now`
    /// for none.
    ///
    /// Throws `cluster.eventsGone` if some after the cursor were deleted already.
    package func eventPage(
        _ query: EventQuery, after cursor: String?, limit: Int = WireLimits.pageRows,
        retrySeconds: Double? = nil
    ) async throws(Failure) -> EventPage {
        try await get(
            Self.path(query, [("after", cursor), ("limit", "\(limit)")]),
            call: Call(retrySeconds: retrySeconds))
    }

    /// Follows the events after a cursor over one connection, until the coordinator ends it.
    ///
    /// It throws a `Failure`: that of the answer, of the last message, or of the connection. A reader
    /// that is slower than the stream loses the connection but no event, and continues with the last
    /// cursor that it got.
    package func events(
        _ query: EventQuery, after cursor: String
    ) -> AsyncThrowingStream<EventUpdate, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingOldest(Self.waitingEvents)) { updates in
            let task = Task {
                do {
                    try await self.stream(Self.path(query, [("after", cursor)])) { update in
                        if case .enqueued = updates.yield(update) { true } else { false }
                    }
                    updates.finish()
                } catch {
                    updates.finish(throwing: error)
                }
            }
            updates.onTermination = { _ in task.cancel() }
        }
    }

    /// Updates that wait for a reader before its connection is closed.
    private static let waitingEvents = 4_096
    /// Time without any byte after which a stream counts as lost: four comments are missing.
    private static let silentSeconds = 60.0
    /// Maximum time of one stream, which is as long as its connection: it ends by silence before.
    private static let streamSeconds = 7.0 * 86_400

    private static func path(_ query: EventQuery, _ items: [(String, String?)]) -> String {
        var all: [(name: String, value: String?)] = []
        if let catalog = query.catalog {
            all.append(("catalog", catalog.id?.description ?? catalog.name))
            all.append(("site", catalog.site))
        }
        if !query.kinds.isEmpty { all.append(("kind", query.kinds.joined(separator: ","))) }
        all.append(("since", query.since.map { "\($0)" }))
        all += items.map { (name: $0.0, value: $0.1) }
        return "/v1/events\(Query(all))"
    }

    /// Reads one stream to its end, of the first endpoint that answers.
    private func stream(
        _ path: String, _ receive: @escaping @Sendable (EventUpdate) -> Bool
    ) async throws(Failure) {
        let reading = EventReading(receive)
        var call = Call(waitSeconds: Self.streamSeconds)
        call.sink = { reading.take($0) }
        do {
            let isOver = try await withThrowingTaskGroup(of: Bool.self) { [call] group in
                group.addTask {
                    // Not once more elsewhere: it has sent some events.
                    _ = try await self.pass(path, body: nil, call: call, mayRepeat: false)
                    return true
                }
                group.addTask {
                    while reading.silentSeconds < Self.silentSeconds {
                        try await Task.sleep(for: .seconds(Self.silentSeconds / 6))
                    }
                    return false
                }
                defer { group.cancelAll() }
                return try await group.next() ?? true
            }
            guard isOver else {
                throw Failure(
                    .clusterCoordinatorUnreachable,
                    "the event stream was silent for \(Int(Self.silentSeconds)) seconds")
            }
        } catch let failure as Failure {
            throw failure
        } catch let failure as WireFailure {
            throw failure.failure
        } catch {
            throw WireFailure.cancelled.failure
        }
        if let failure = reading.failure { throw failure }
    }
}

/// The updates in the bytes of one stream. Safe from any thread.
private final class EventReading: Sendable {
    private struct State {
        var reader = EventStreamReader()
        var failure: Failure?
        var receivedAt = ContinuousClock.now
    }

    private let state = Mutex(State())
    private let receive: @Sendable (EventUpdate) -> Bool

    init(_ receive: @escaping @Sendable (EventUpdate) -> Bool) { self.receive = receive }

    /// The reason for which the stream ended; nil if it just ended.
    var failure: Failure? { state.withLock(\.failure) }

    /// Seconds since the last bytes.
    var silentSeconds: Double {
        state.withLock { (ContinuousClock.now - $0.receivedAt) / .seconds(1) }
    }

    /// Takes bytes; returns false if no more are wanted.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            state.receivedAt = .now
            do {
                for message in try state.reader.read(bytes) {
                    guard receive(try Self.update(message)) else {
                        state.failure = Failure(
                            .clusterSlowReader, "the events came faster than they were read")
                        return false
                    }
                }
                return true
            } catch {
                state.failure =
                    error as? Failure
                    ?? Failure(.clusterProtocol, "an event that cannot be read")
                return false
            }
        }
    }

    private static func update(_ message: EventStreamMessage) throws -> EventUpdate {
        guard let data = message.data else { return .position(message.id ?? "") }
        guard message.name != "failure" else {
            throw try WireJSON.decode(ErrorAnswer.self, from: data).error
        }
        return .event(try WireJSON.decode(from: data))
    }
}
