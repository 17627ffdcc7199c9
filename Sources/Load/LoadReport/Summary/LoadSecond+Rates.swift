import LoadModel

/// Rates of a second, which may be incomplete if the test ended in it.
extension LoadSecond {
    /// Minimum length for a rate: in a shorter part it would be close to zero, or far too high.
    static let minSeconds = 0.1

    var tellsRates: Bool { lengthSeconds >= Self.minSeconds }

    /// Returns a rate over the second's length; nil if that is too short.
    func perSecond(_ count: Double) -> Double? { tellsRates ? count / lengthSeconds : nil }

    /// Returns a rate over the part with load; nil if that is too short.
    func perLoadSecond(_ count: Double) -> Double? {
        loadSeconds >= Self.minSeconds ? count / loadSeconds : nil
    }
}

extension LoadResult {
    /// End of the load in seconds from the start, if the time after it is long enough to show.
    var drainStartSeconds: Double? {
        guard let last = seconds.last,
            let first = seconds.first(where: { $0.loadSeconds < $0.lengthSeconds })
        else { return nil }
        let start = Double(first.second) + first.loadSeconds
        let end = Double(last.second) + last.lengthSeconds
        return end - start >= LoadSecond.minSeconds ? start : nil
    }
}
