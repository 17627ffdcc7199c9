/// The tries of a viewer's request: a failed one is repeated 0.5 s later, and 1 s after that.
struct RequestTries: Sendable {
    static let delaysSeconds = [0.5, 1.0]

    private var failures = 0

    /// True if another failure is the last one.
    var isLast: Bool { failures >= Self.delaysSeconds.count }

    /// Takes a failure, and returns the time of the next try; nil after the last one.
    mutating func failed(atSeconds now: Double) -> Double? {
        guard !isLast else { return nil }
        defer { failures += 1 }
        return now + Self.delaysSeconds[failures]
    }
}
