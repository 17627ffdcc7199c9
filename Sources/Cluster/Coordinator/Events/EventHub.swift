import API
import HTTPServer
import JobQueue
import Model
import Services
import Synchronization

/// Sends events to the streams of this coordinator. Safe from any thread.
///
/// One task reads new events for all streams, twice a second while there are streams, and nothing
/// without. So it sees the events of all coordinators. A stream that starts in the past, or whose
/// reader is slow, gets pages of its own, the next one when it has read the last one. These come
/// after the others, some streams at a time, so that they delay none.
final class EventHub: Service {
    struct Limits: Sendable {
        /// Maximum of open streams.
        var streams = 2_000
        /// Maximum of open streams of one issued token; that of the environment has no own maximum.
        var streamsOfToken = 100
        /// Time between two reads.
        var period = Duration.milliseconds(500)
        /// Time between two keep-alive comments.
        var keepAlive = Duration.seconds(15)
        /// Bytes that may wait for a reader, besides the events of one read.
        var unsentBytes = 256 << 10
        /// Maximum of events that one read answers.
        var events = 1_000
        /// Maximum of streams that get pages of their own between two reads for the others.
        var lateStreams = 50
        /// Maximum of events of such a page.
        var lateEvents = 100
        /// Time until the next read while there is more to read.
        var pause = Duration.milliseconds(10)
    }

    let name = "events"
    /// Seconds after which a client without a slot may try again.
    static let retrySeconds = 5

    private struct OpenStream {
        let body: HTTPStream
        /// Nil for the token of the environment.
        let token: AccessTokenID?
    }

    private struct State {
        /// Open streams by number.
        var streams: [Int: OpenStream] = [:]
        /// The number of open streams of each issued token; none is zero.
        var counts: [AccessTokenID: Int] = [:]
        /// Streams that `run` has not taken yet.
        var opened: [EventFollower] = []
        var lastNumber = 0
        var isClosed = false
    }

    private let events: Events
    private let limits: Limits
    private let state = Mutex(State())
    private let signal = WorkSignal()
    private let failures: BackgroundFailures

    init(_ events: Events, _ limits: Limits = Limits(), _ failures: BackgroundFailures) {
        self.events = events
        self.limits = limits
        self.failures = failures
    }

    /// Number of open streams.
    var streamCount: Int { state.withLock { $0.streams.count } }

    /// Opens a stream of the events after a cursor. It ends when the peer leaves, the token ends, or
    /// `close` is called.
    ///
    /// Throws `cluster.tooManyStreams` without a slot, also of its token, and
    /// `cluster.coordinatorUnreachable` after `close`.
    func open(
        after cursor: EventCursor, _ filter: Events.Filter, for caller: Caller
    ) throws(Failure) -> HTTPStream {
        let body = try state.withLock { state throws(Failure) -> HTTPStream in
            guard !state.isClosed else {
                throw Failure(.clusterCoordinatorUnreachable, "The coordinator is shutting down.")
            }
            guard state.streams.count < limits.streams else {
                throw Failure(
                    .clusterTooManyStreams,
                    "This coordinator has \(limits.streams) event streams, its maximum.")
            }
            if let token = caller.id {
                let count = state.counts[token] ?? 0
                guard count < limits.streamsOfToken else {
                    throw Failure(
                        .clusterTooManyStreams,
                        "The token \(caller.name) has \(count) event streams of this coordinator; \(limits.streamsOfToken) are the maximum of one token."
                    )
                }
                state.counts[token] = count + 1
            }
            state.lastNumber += 1
            let number = state.lastNumber
            let body = HTTPStream(maximumUnsentBytes: limits.unsentBytes) { [weak self] in
                self?.forget(number)
            }
            state.streams[number] = OpenStream(body: body, token: caller.id)
            state.opened.append(EventFollower(body, cursor, filter, caller))
            return body
        }
        signal.fire()
        return body
    }

    private func forget(_ number: Int) {
        state.withLock { state in
            guard let stream = state.streams.removeValue(forKey: number),
                let token = stream.token, let count = state.counts[token]
            else { return }
            state.counts[token] = count > 1 ? count - 1 : nil
        }
    }

    /// Ends all streams, and rejects others.
    func close() {
        let bodies = state.withLock { state in
            state.isClosed = true
            state.opened = []
            return state.streams.values.map(\.body)
        }
        for body in bodies { body.end() }
        signal.close()
    }

    // MARK: Reading

    /// Runs until its task is cancelled.
    func run() async {
        var followers = EventFollowers()
        var keepAliveAt = ContinuousClock.now + limits.keepAlive
        while !Task.isCancelled, !signal.isClosed {
            let version = signal.version
            followers.add(
                state.withLock { state in
                    defer { state.opened = [] }
                    return state.opened
                })
            followers.drop()
            guard !followers.isEmpty else {
                await signal.wait(after: version, atMost: .seconds(3_600))
                keepAliveAt = .now + limits.keepAlive
                continue
            }
            let liveAreBehind = await readForLive(&followers)
            if keepAliveAt <= .now {
                followers.keepAlive()
                keepAliveAt = .now + limits.keepAlive
            }
            var isBehind = false
            if let liveAreBehind {
                let lateAreBehind = await readForLate(&followers)
                isBehind = liveAreBehind || lateAreBehind
            }
            await signal.wait(
                after: version,
                atMost: isBehind ? min(limits.pause, limits.period) : limits.period)
        }
    }

    /// Sends what is new to the live ones; returns true if there is more, and nil after a failure.
    private func readForLive(_ followers: inout EventFollowers) async -> Bool? {
        let start = ContinuousClock.now
        do throws(Failure) {
            let isBehind = try await followers.advanceAll(events, limit: limits.events)
            if followers.position != nil { failures.succeeded("read events", since: start) }
            return isBehind
        } catch {
            failures.failed("read events", error)
            return nil
        }
    }

    /// Sends some of the late ones a page each, in turn; returns true if there is more.
    private func readForLate(_ followers: inout EventFollowers) async -> Bool {
        let start = ContinuousClock.now
        do throws(Failure) {
            let late = followers.late
            var isBehind = late.count > limits.lateStreams
            for index in late.prefix(limits.lateStreams) {
                if try await followers.advance(index, events, limit: limits.lateEvents) {
                    isBehind = true
                }
            }
            if !late.isEmpty { failures.succeeded("read events", since: start) }
            return isBehind
        } catch {
            failures.failed("read events", error)
            return false
        }
    }
}
