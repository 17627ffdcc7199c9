import Model

/// The time of an asset's refresh, as the database has it.
struct RefreshTime {
    /// After each submission or refresh; nil for never. If the origin says when, only for responses
    /// that state nothing.
    var seconds: Double?
    var byOrigin: Bool

    init(_ seconds: Double?, byOrigin: Bool?) {
        self.byOrigin = byOrigin == true
        self.seconds = self.byOrigin ? WireLimits.unstatedRefreshSeconds : seconds
    }

    /// Returns the seconds after which an asset is due whose response is fresh for so long: neither
    /// in a rush nor never.
    static func seconds(ofFresh fresh: Int) -> Int64 {
        let range = WireLimits.originRefreshSeconds
        return Int64(min(max(Double(fresh), range.lowerBound), range.upperBound))
    }
}
