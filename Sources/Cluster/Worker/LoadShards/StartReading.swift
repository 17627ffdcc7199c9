/// An estimate of a load test's start on this machine's clock, from coordinators' answers.
///
/// The time in an answer lies between request and answer. The request with the shortest round trip
/// counts; its error is at most half of that. A value, used by one owner at a time.
struct StartReading: Sendable {
    /// Maximum number of requests for the start.
    static let most = 5

    /// The start in nanoseconds of the monotonic clock.
    private(set) var start: UInt64
    private var shortest = UInt64.max
    private var count = 0

    /// - Parameters:
    ///   - answeredAt: time of the first answer; its request was held, so it is less precise.
    ///   - seconds: seconds from then to the start.
    init(answeredAt: UInt64, seconds: Double) {
        start = Self.moment(answeredAt, seconds)
    }

    mutating func add(askedAt: UInt64, answeredAt: UInt64, seconds: Double) {
        let roundTrip = answeredAt &- askedAt
        count += 1
        guard roundTrip < shortest else { return }
        shortest = roundTrip
        start = Self.moment(askedAt + roundTrip / 2, seconds)
    }

    /// Returns true if another request fits before the start: twice the shortest round trip must be
    /// left.
    func mayAsk(at now: UInt64) -> Bool {
        guard count < Self.most else { return false }
        guard shortest != .max else { return now < start }
        let needed = shortest.multipliedReportingOverflow(by: 2)
        return !needed.overflow && now < start && start - now > needed.partialValue
    }

    private static func moment(_ nanoseconds: UInt64, _ seconds: Double) -> UInt64 {
        let distance = Int64(min(max(seconds, -86_400), 86_400) * 1e9)
        return UInt64(max(Int64(clamping: nanoseconds) + distance, 0))
    }
}
