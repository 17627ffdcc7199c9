/// Keeps the starts of requests to one origin under a rate: in any second, as the origin counts
/// them, there are no more than allowed. A value; its times are seconds of one monotonic clock.
///
/// A request is counted from its reservation, which may be long before it reaches the origin, until
/// a little over a second after it must have arrived there: when its answer began, or 0.1 s after it
/// was sent. That is what makes the count hold at the other end of a network that delays one request
/// more than the next.
struct RequestPacer {
    /// A second, and what two requests' ways to the origin may differ by.
    static let secondWithJitter = 1.02
    /// The most that a request without an answer is believed to have been on its way.
    static let longestWay = 0.1

    /// How many may start in `window` seconds.
    private(set) var limit: Int
    private(set) var window: Double
    /// Reserved and not known to have arrived, with the time they were sent at.
    private var underWay: [UInt64: Double?] = [:]
    /// When those arrived that may still count, about in order.
    private var arrivals: [Double] = []
    private var head = 0

    /// `requestsPerSecond` below 1 is one in so many seconds, 0 none at all.
    init(requestsPerSecond: Double) {
        (limit, window) = Self.rule(requestsPerSecond)
    }

    /// Sets another rate; what has started counts on.
    mutating func change(requestsPerSecond: Double) {
        (limit, window) = Self.rule(requestsPerSecond)
    }

    private static func rule(_ requestsPerSecond: Double) -> (limit: Int, window: Double) {
        guard requestsPerSecond > 0 else { return (0, secondWithJitter) }
        let limit = max(1, Int(min(requestsPerSecond, 1e6)))
        let window = requestsPerSecond < 1 ? min(1 / requestsPerSecond, 86_400) : 1
        return (limit, window * secondWithJitter)
    }

    /// Takes a place for request `id`; false when there is none now.
    mutating func reserve(_ id: UInt64, now: Double) -> Bool {
        expire(now)
        guard counted < limit, underWay[id] == nil else { return false }
        underWay[id] = .some(nil)
        return true
    }

    /// Notes that a reserved request goes out now; false when it has gone out before, as when
    /// libcurl tries it again on another connection: that one needs a place of its own.
    mutating func sent(_ id: UInt64, now: Double) -> Bool {
        guard let sentAt = underWay[id] else { return false }
        guard sentAt == nil else { return false }
        underWay[id] = .some(now)
        return true
    }

    /// Notes that the answer has begun: the request has arrived.
    mutating func answered(_ id: UInt64, now: Double) {
        guard let sentAt = underWay.removeValue(forKey: id), let sentAt else { return }
        arrivals.append(min(now, sentAt + Self.longestWay))
    }

    /// Ends a request whatever became of it; one that was never sent gives its place back.
    mutating func end(_ id: UInt64, now: Double) { answered(id, now: now) }

    /// The earliest time at which a place may come free by itself; nil when there is one now, or
    /// when all depends on requests that have not been sent.
    mutating func nextPlace(now: Double) -> Double? {
        expire(now)
        guard limit > 0, counted >= limit else { return nil }
        var next = arrivals.count > head ? arrivals[head] + window : Double.infinity
        for case .some(let sentAt) in underWay.values {
            next = min(next, sentAt + Self.longestWay + window)
        }
        return next.isFinite ? next : nil
    }

    /// How many requests count now.
    mutating func inWindow(now: Double) -> Int {
        expire(now)
        return counted
    }

    private var counted: Int { underWay.count + arrivals.count - head }

    private mutating func expire(_ now: Double) {
        for (id, sentAt) in underWay {
            guard let sentAt, now >= sentAt + Self.longestWay + window else { continue }
            // It is still being answered; `end` finds nothing to do.
            underWay[id] = nil
        }
        while head < arrivals.count, now >= arrivals[head] + window { head += 1 }
        if head == arrivals.count || head >= 1_024 {
            arrivals.removeFirst(head)
            head = 0
        }
    }
}
