import Model

/// Throughput by number of workers: the Universal Scalability Law (Gunther 1993), X(N) = γN / (1 +
/// α(N−1) + βN(N−1)).
package struct Scalability: Sendable, Codable, Hashable {
    /// Contention: the fraction of serial work, 0 to 1.
    package var alpha: Double
    /// Coherency: the cost of synchronization per pair of workers; 0 or more.
    package var beta: Double
    /// Throughput of one worker.
    package var gamma: Double

    package init(alpha: Double, beta: Double, gamma: Double) {
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
    }

    /// Returns the throughput of `n` workers, in gamma's unit; 0 for none.
    package func throughput(_ n: Double) -> Double { gamma * n * efficiency(n) }

    /// Returns the throughput of `n` workers relative to linear scaling.
    package func efficiency(_ n: Double) -> Double {
        n > 0 ? 1 / (1 + alpha * (n - 1) + beta * n * (n - 1)) : 1
    }

    /// Number of workers, 1 or more, with the maximum throughput; nil if there is none.
    package var peakN: Double? {
        guard beta > 0 else { return nil }
        return max(1, (max(0, 1 - alpha) / beta).squareRoot())
    }

    /// Throughput at `peakN`.
    package var peakX: Double? { peakN.map(throughput) }

    /// Limit of the throughput for many workers: γ/α; nil with a peak, or without a limit.
    package var limitX: Double? { beta > 0 || alpha <= 0 ? nil : gamma / alpha }

    /// Returns the minimum number of workers for `forThroughput`; nil if it exceeds `atMost`, or no
    /// number suffices.
    package func fewest(forThroughput wanted: Double, atMost: Int) -> Int? {
        guard wanted > 0 else { return 0 }
        var last = max(1, atMost)
        if let peakN, peakN < Double(last) {
            let below = Int(saturating: peakN)
            last = min(
                last,
                throughput(Double(below + 1)) > throughput(Double(below)) ? below + 1 : below)
        }
        guard atMost > 0 else { return nil }
        return minSufficient(from: 1, atMost: last) { throughput(Double($0)) >= wanted }
    }
}

/// A fitted `Scalability` with its uncertainty.
package struct ScalabilityFit: Sendable {
    /// A 95 % confidence interval.
    package typealias Interval = ClosedRange<Double>

    package let scalability: Scalability
    /// 95 % intervals; nil unless there are more points than parameters.
    package let alpha, beta, gamma: Interval?
    /// Interval of the peak; with an infinite upper bound if there may be none.
    package let peakN: Interval?
    /// Share of the throughputs' variance that the law explains; 1 if they do not vary.
    package let rSquared: Double
    /// Largest relative difference of a point from the curve.
    package let largestError: Double
}
