import Model

/// Limits of a load test's numbers, for scenarios and options.
package enum LoadLimits {
    /// Arrivals per second.
    package static let rate = WireLimits.loadLevel
    /// Concurrent users.
    package static let users: ClosedRange<Int64> = 0...1_000_000
    package static let stageSeconds = 0.0...604_800
    package static let stages = 100
    package static let targets = 10_000
    /// Relative to the weights of the other targets.
    package static let weight = 0.000_001...1_000_000
    package static let zipfExponent = 0.0...5
    package static let warmUpSeconds = 0.0...86_400
    package static let capSeconds = 0.001...604_800
    package static let requests: ClosedRange<Int64> = 1...1_000_000_000_000
    package static let bytes: ClosedRange<Int64> = 1...1_000_000_000_000_000_000
    package static let concurrency: ClosedRange<Int64> = 1...100_000
    package static let timeoutSeconds = 0.001...3_600
    package static let thinkSeconds = 0.0...3_600
    package static let headers = 50
    package static let redirects: ClosedRange<Int64> = 0...20
    package static let allow = 1_000
    package static let privateHosts = targets + allow
    package static let thresholds = 100
    /// Length of a threshold, which may have a target's name.
    package static let thresholdBytes = 400
    package static let abortAfterSeconds = 0.0...86_400
    package static let nameBytes = 200
    package static let seed: ClosedRange<Int64> = 0...9_007_199_254_740_991

    // Viewers.

    package static let startupSeconds = 0.0...600
    package static let bufferSeconds = 0.1...3_600
    package static let watchSeconds = 0.1...604_800
    package static let safety = 0.01...1
    package static let viewerClasses = 50
    package static let roundTripSeconds = 0.0...60
    package static let height: ClosedRange<Int64> = 1...100_000
    package static let bitsPerSecond: ClosedRange<Int64> = 1...1_000_000_000_000
}
