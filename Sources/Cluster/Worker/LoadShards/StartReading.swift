/// When a load test begins on this machine's clock, of what coordinators answer to how far it is.
///
/// What is told lies between a question and its answer: of some questions the one that took least counts,
/// which is wrong by half of that at most. A value: used by one owner at a time.
struct StartReading: Sendable {
    /// How often the time until the start is asked for.
    static let most = 5

    /// Nanoseconds of the monotonic clock.
    private(set) var start: UInt64
    private var shortest = UInt64.max
    private var count = 0

    /// - Parameters:
    ///   - answeredAt: when the first answer came, to a question that was held, so that it tells less.
    ///   - seconds: how far the start was then.
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

    /// Whether there is time for one more question before the start: twice what the quickest took, so that no
    /// answer is waited for when the load is due.
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
