import Glibc

/// The probability of waiting, P(W > 0), for other arrivals than Poisson's: Whitt, "Approximations
/// for the GI/G/m queue" (Production and Operations Management 2, 1993), section 2.4.
///
/// It interpolates between the limits for heavy traffic (π₄, of Halfin and Whitt), for light traffic
/// (π₅) and, for even arrivals at many servers, for a normal number of busy servers (π₆). For
/// Poisson arrivals it is Erlang's C, whatever the variation of service.
struct ProbabilityOfWait {
    /// Erlang's C.
    let markovian: Double
    let servers: Double
    /// Below 1.
    let utilisation: Double
    let arrivalCV2: Double
    let serviceCV2: Double

    var value: Double {
        guard utilisation > 0, arrivalCV2 + serviceCV2 > 0 else { return 0 }
        guard arrivalCV2 != 1 else { return markovian }
        return min(1, max(0, interpolated))
    }

    private var interpolated: Double {
        let square = utilisation * utilisation
        let first = square * heavy + (1 - square) * light
        let spare = spareDeviations
        guard arrivalCV2 < 1, servers >= 7, spare > 0.5 else { return first }
        let second = arrivalCV2 * first + (1 - arrivalCV2) * Self.above(spare)
        guard spare < 1 else { return second }
        let weight = 2 * (1 - arrivalCV2) * (spare - 0.5)
        return weight * second + (1 - weight) * first
    }

    /// Idle servers over the square root of the servers.
    private var slack: Double { (1 - utilisation) * servers.squareRoot() }

    private var heavy: Double {
        scaled(slack * (1 + serviceCV2) / (arrivalCV2 + serviceCV2))
    }

    private var light: Double { scaled(2 * slack / (1 + arrivalCV2)) }

    /// Erlang's C, scaled by the normal tails at `deviations` and at the same for M/M/c.
    private func scaled(_ deviations: Double) -> Double {
        let base = Self.above(slack)
        // Tails beyond some 37 deviations cannot be compared: the probability is zero either way.
        guard base > .leastNormalMagnitude else { return markovian }
        return min(1, markovian * (Self.above(deviations) / base))
    }

    /// Idle servers in standard deviations of the number of busy ones.
    private var spareDeviations: Double {
        let load = servers * utilisation
        let peakedness = (arrivalCV2 + serviceCV2) / (1 + serviceCV2)
        return (servers - load - 0.5) / (load * peakedness).squareRoot()
    }

    private static func above(_ deviations: Double) -> Double {
        erfc(deviations / 2.0.squareRoot()) / 2
    }
}
