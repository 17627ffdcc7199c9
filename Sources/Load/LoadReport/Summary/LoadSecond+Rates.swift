import LoadModel

/// Rates of a second of which there may be a part alone: the test ended in it.
extension LoadSecond {
    /// A part that is shorter tells no rate: what ends in it would be next to nothing, or far too much.
    static let leastSeconds = 0.1

    var tellsRates: Bool { lengthSeconds >= Self.leastSeconds }

    /// Over the time that there was; nil for a part that is too short.
    func perSecond(_ count: Double) -> Double? { tellsRates ? count / lengthSeconds : nil }

    /// Over the time in which there was load; nil where that is too short.
    func perLoadSecond(_ count: Double) -> Double? {
        loadSeconds >= Self.leastSeconds ? count / loadSeconds : nil
    }
}

extension LoadResult {
    /// From when on nothing new was begun, where the seconds after that are long enough to be seen; seconds
    /// from the start.
    var drainStartSeconds: Double? {
        guard let last = seconds.last,
            let first = seconds.first(where: { $0.loadSeconds < $0.lengthSeconds })
        else { return nil }
        let start = Double(first.second) + first.loadSeconds
        let end = Double(last.second) + last.lengthSeconds
        return end - start >= LoadSecond.leastSeconds ? start : nil
    }
}
