/// Transfers that ended at the present level, and those of them overloaded and rejected; halved
/// every second.
struct RecentEnds {
    private var ended = 0.0
    private var overloaded = 0.0
    private var refused = 0.0
    private var halvedAt = 0.0

    mutating func add(_ overload: AdaptiveConcurrency.Overload? = nil) {
        ended += 1
        guard let overload else { return }
        overloaded += 1
        if overload.isRejection { refused += 1 }
    }

    mutating func halve(now: Double) {
        guard now - halvedAt >= 1 else { return }
        ended /= 2
        overloaded /= 2
        refused /= 2
        halvedAt = now
    }

    mutating func reset() { (ended, overloaded, refused) = (0, 0, 0) }

    /// True for so many interrupted transfers that the concurrency is halved.
    var isOverloaded: Bool { overloaded >= ended * 0.05 }

    /// True for so many rejected transfers that the concurrency is lowered by an eighth.
    var isRefused: Bool { refused >= ended * 0.01 }

    var text: String {
        "\(Int(overloaded.rounded(.up))) of the last \(Int(ended.rounded(.up)))"
    }
}
