import Model

/// How throughput grows with workers: the Universal Scalability Law (Gunther 1993),
/// X(N) = γN / (1 + α(N−1) + βN(N−1)).
package struct Scalability: Sendable, Codable, Hashable {
    /// The share of work that only one can do at a time, 0 to 1.
    package var alpha: Double
    /// What keeping each other up to date costs, a pair of workers; 0 or more.
    package var beta: Double
    /// Throughput of one worker.
    package var gamma: Double

    package init(alpha: Double, beta: Double, gamma: Double) {
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
    }

    /// Throughput of `n` workers, in gamma's unit; 0 for none.
    package func throughput(_ n: Double) -> Double { gamma * n * efficiency(n) }

    /// What `n` workers do, as a part of what they would do if they were not in each other's way.
    package func efficiency(_ n: Double) -> Double {
        n > 0 ? 1 / (1 + alpha * (n - 1) + beta * n * (n - 1)) : 1
    }

    /// The number of workers, 1 or more, beyond which another one takes throughput away; nil when
    /// there is none.
    package var peakN: Double? {
        guard beta > 0 else { return nil }
        return max(1, (max(0, 1 - alpha) / beta).squareRoot())
    }

    /// Throughput at `peakN`.
    package var peakX: Double? { peakN.map(throughput) }

    /// What throughput comes near to with ever more workers when it has no peak: γ/α; nil when it
    /// has one, or no bound at all.
    package var limitX: Double? { beta > 0 || alpha <= 0 ? nil : gamma / alpha }

    /// The fewest workers that do `forThroughput`; nil when `atMost` do not, or no number does.
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
        return leastSufficient(from: 1, atMost: last) { throughput(Double($0)) >= wanted }
    }
}

/// A fitted `Scalability` and how sure it is.
package struct ScalabilityFit: Sendable {
    /// A value and the bounds between which it lies with 95 % confidence.
    package typealias Interval = ClosedRange<Double>

    package let scalability: Scalability
    /// 95 % intervals; nil when there are not more points than the three parameters.
    package let alpha, beta, gamma: Interval?
    /// The interval of the peak; without an upper bound (infinity) when there may be none.
    package let peakN: Interval?
    /// The share of the throughputs' variance that the law explains; 1 when they do not vary.
    package let rSquared: Double
    /// The largest difference of a point from the curve, as a part of the point.
    package let largestError: Double
}
