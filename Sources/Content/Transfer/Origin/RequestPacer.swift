/// Limits the rate of requests to one origin: no second, as the origin counts it, has more than
/// allowed. A value; its times are seconds of one monotonic clock.
///
/// A request counts from its reservation, which may be long before it reaches the origin. It counts
/// until a little over a second after it must have arrived: when its response began, or 0.1 s after
/// it was sent. So the count also holds at the origin when the network delays some requests more
/// than others.
struct RequestPacer {
    /// A second plus the maximum difference between two requests' travel times.
    static let secondWithJitter = 1.02
    /// Maximum time that an unanswered request is assumed to travel.
    static let longestWay = 0.1

    /// Number of requests that may start in `window` seconds.
    private(set) var limit: Int
    private(set) var window: Double
    /// Reserved requests that are not known to have arrived, with the times of their sending.
    private var underWay: [UInt64: Double?] = [:]
    /// Arrival times of requests that may still count, roughly in order.
    private var arrivals: [Double] = []
    private var head = 0

    /// Sets the rate: below 1 means one request in so many seconds, 0 means none.
    init(requestsPerSecond: Double) {
        (limit, window) = Self.rule(requestsPerSecond)
    }

    /// Sets another rate; requests that have started still count.
    mutating func change(requestsPerSecond: Double) {
        (limit, window) = Self.rule(requestsPerSecond)
    }

    private static func rule(_ requestsPerSecond: Double) -> (limit: Int, window: Double) {
        guard requestsPerSecond > 0 else { return (0, secondWithJitter) }
        let limit = max(1, Int(min(requestsPerSecond, 1e6)))
        let window = requestsPerSecond < 1 ? min(1 / requestsPerSecond, 86_400) : 1
        return (limit, window * secondWithJitter)
    }

    /// Reserves a slot for request `id`; returns false if there is none now.
    mutating func reserve(_ id: UInt64, now: Double) -> Bool {
        expire(now)
        guard counted < limit, underWay[id] == nil else { return false }
        underWay[id] = .some(nil)
        return true
    }

    /// Records that a reserved request is sent now. Returns false if it was sent before: libcurl's
    /// retry on another connection needs its own slot.
    mutating func sent(_ id: UInt64, now: Double) -> Bool {
        guard let sentAt = underWay[id] else { return false }
        guard sentAt == nil else { return false }
        underWay[id] = .some(now)
        return true
    }

    /// Records that the response has begun, so the request has arrived.
    mutating func answered(_ id: UInt64, now: Double) {
        guard let sentAt = underWay.removeValue(forKey: id), let sentAt else { return }
        arrivals.append(min(now, sentAt + Self.longestWay))
    }

    /// Ends a request; one that was never sent frees its slot.
    mutating func end(_ id: UInt64, now: Double) { answered(id, now: now) }

    /// Returns the earliest time at which a slot may become free by itself. Returns nil if one is
    /// free now, or if all depends on requests that have not been sent.
    mutating func nextSlot(now: Double) -> Double? {
        expire(now)
        guard limit > 0, counted >= limit else { return nil }
        var next = arrivals.count > head ? arrivals[head] + window : Double.infinity
        for case .some(let sentAt) in underWay.values {
            next = min(next, sentAt + Self.longestWay + window)
        }
        return next.isFinite ? next : nil
    }

    /// Returns the number of requests that count now.
    mutating func inWindow(now: Double) -> Int {
        expire(now)
        return counted
    }

    private var counted: Int { underWay.count + arrivals.count - head }

    private mutating func expire(_ now: Double) {
        for (id, sentAt) in underWay {
            guard let sentAt, now >= sentAt + Self.longestWay + window else { continue }
            // Its response still arrives; `end` finds nothing to do.
            underWay[id] = nil
        }
        while head < arrivals.count, now >= arrivals[head] + window { head += 1 }
        if head == arrivals.count || head >= 1_024 {
            arrivals.removeFirst(head)
            head = 0
        }
    }
}
