import Glibc
package import Statistics

/// A distribution of durations, by mean and variation.
package struct TimeDistribution: Sendable, Hashable {
    /// The shape of a distribution with given moments.
    package enum Shape: String, Sendable, CaseIterable, Codable {
        /// Fixed, gamma, exponential, or two exponentials of balanced means, depending on the
        /// variation.
        case phases
        /// Lognormal, with a long tail as in file sizes.
        case lognormal
    }

    private enum Kind: Hashable {
        case fixed
        case exponential
        case gamma(shape: Double)
        case twoExponentials(firstShare: Double)
        case lognormal(mu: Double, sigma: Double)
    }

    package let meanSeconds: Double
    /// Variance over squared mean: 0 is constant, 1 exponential.
    package let cv2: Double
    private let kind: Kind

    /// Below it times differ by less than 32 millionths, and the gamma distribution's shape, 1 /
    /// `cv2`, is too large to draw from.
    private static let minCV2 = 1e-9

    /// Creates a distribution. `meanSeconds` and `cv2` are 0 or more and finite.
    package init(meanSeconds: Double, cv2: Double = 1, shape: Shape = .phases) {
        precondition(meanSeconds >= 0 && cv2 >= 0)
        self.meanSeconds = meanSeconds
        self.cv2 = cv2
        if cv2 < Self.minCV2 {
            kind = .fixed
        } else if shape == .lognormal {
            let variance = log(1 + cv2)
            kind = .lognormal(mu: -variance / 2, sigma: variance.squareRoot())
        } else if cv2 == 1 {
            kind = .exponential
        } else if cv2 < 1 {
            kind = .gamma(shape: 1 / cv2)
        } else {
            // Balanced means (Tijms 2003, appendix B): p/μ₁ = (1 − p)/μ₂.
            kind = .twoExponentials(
                firstShare: (1 + ((cv2 - 1) / (cv2 + 1)).squareRoot()) / 2)
        }
    }

    package func draw(_ random: inout SeededRandom) -> Double {
        switch kind {
        case .fixed: return meanSeconds
        case .exponential: return random.exponential(mean: meanSeconds)
        case .gamma(let shape): return random.gamma(shape: shape) / shape * meanSeconds
        case .twoExponentials(let share):
            let chosen = random.uniform() < share ? share : 1 - share
            return random.exponential(mean: meanSeconds / (2 * chosen))
        case .lognormal(let mu, let sigma):
            return exp(mu + sigma * random.normal()) * meanSeconds
        }
    }
}
