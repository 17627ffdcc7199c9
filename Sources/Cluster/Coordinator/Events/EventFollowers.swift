import API
import HTTPServer
import JobQueue
import Model

/// An open stream, and the position up to which it has its events.
struct EventFollower: Sendable {
    let body: HTTPStream
    let filter: Events.Filter
    let caller: Caller
    var cursor: EventCursor
    /// False while it needs pages of its own.
    var isLive = false
    /// Higher than that of all that got a page of their own, or were added, before it.
    var turn = 0

    init(
        _ body: HTTPStream, _ cursor: EventCursor, _ filter: Events.Filter, _ caller: Caller
    ) {
        self.body = body
        self.cursor = cursor
        self.filter = filter
        self.caller = caller
    }

    func end(_ failure: Failure) { body.end(EventText.failure(failure)) }
}

/// The streams of one coordinator: confined to the task of its `EventHub`.
struct EventFollowers {
    private var all: [EventFollower] = []
    /// The position of the live ones; nil without any.
    private(set) var position: EventCursor?
    private var lastTurn = 0

    var isEmpty: Bool { all.isEmpty }

    mutating func add(_ followers: [EventFollower]) {
        for var follower in followers {
            follower.turn = nextTurn()
            all.append(follower)
        }
    }

    private mutating func nextTurn() -> Int {
        lastTurn += 1
        return lastTurn
    }

    /// Drops those whose peers have left, and ends those whose tokens are no longer valid.
    mutating func drop() {
        for follower in all {
            do throws(Failure) {
                try follower.caller.requireCurrent()
            } catch {
                follower.end(error)
            }
        }
        all.removeAll { $0.body.isEnded }
        if !all.contains(where: \.isLive) { position = nil }
    }

    /// Indexes of those that need a page and can take it; first the one that waits longest.
    var late: [Int] {
        all.indices.filter { !all[$0].isLive && all[$0].body.isWritable }
            .sorted { all[$0].turn < all[$1].turn }
    }

    /// Sends one of them its next page; returns true if it needs more of them.
    mutating func advance(
        _ index: Int, _ events: Events, limit: Int
    ) async throws(Failure) -> Bool {
        all[index].turn = nextTurn()
        let page: Events.Page
        do throws(Failure) {
            page = try await events.page(after: all[index].cursor, all[index].filter, limit: limit)
        } catch {
            guard error.code == .clusterEventsGone else { throw error }
            all[index].end(error)
            return false
        }
        var bytes: [UInt8] = []
        for (_, event) in page.events { bytes += EventText.message(event) }
        guard bytes.isEmpty || all[index].body.send(bytes) else { return false }
        all[index].cursor = page.next
        if !page.hasMore {
            all[index].isLive = true
            if position == nil { position = page.next }
        }
        return page.hasMore
    }

    /// Sends all live ones what is new; returns true if there is more. A reader that is slower than
    /// the events come gets pages of its own from then on.
    mutating func advanceAll(_ events: Events, limit: Int) async throws(Failure) -> Bool {
        guard let start = position else { return false }
        let page: Events.Page
        do throws(Failure) {
            page = try await events.page(after: start, limit: limit, scan: limit)
        } catch {
            guard error.code == .clusterEventsGone else { throw error }
            for follower in all where follower.isLive { follower.end(error) }
            return false
        }
        position = page.next
        guard !page.events.isEmpty else { return false }
        let messages = page.events.map { EventText.message($0.event) }
        for index in all.indices where all[index].isLive {
            var bytes: [UInt8] = []
            for ((cursor, event), message) in zip(page.events, messages)
            where cursor > all[index].cursor && all[index].filter.matches(event) {
                bytes += message
            }
            guard bytes.isEmpty || all[index].body.send(bytes) else {
                all[index].isLive = false
                continue
            }
            all[index].cursor = max(all[index].cursor, page.next)
        }
        return page.hasMore
    }

    /// Sends a comment to all, with the position of those that are live: a reader of few events then
    /// keeps a cursor that is kept here too.
    func keepAlive() {
        let bytes = EventText.keepAlive(position)
        for follower in all {
            guard follower.isLive else {
                follower.body.send(EventText.keepAlive(nil))
                continue
            }
            let isAhead = position.map { $0 < follower.cursor } ?? false
            follower.body.send(isAhead ? EventText.keepAlive(follower.cursor) : bytes)
        }
    }
}
