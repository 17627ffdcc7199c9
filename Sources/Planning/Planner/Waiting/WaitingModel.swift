import Glibc
import Model
import Statistics

/// Waits of jobs for one of several servers: M/M/c exactly, G/G/c by two moments.
///
/// The probability of waiting is Erlang's C, corrected for arrivals other than Poisson's
/// (`ProbabilityOfWait`). The mean wait is that of M/M/c times a factor for the variation of arrivals
/// and service times. Positive waits are taken as exponential, which is exact for M/M/c and the limit
/// under heavy load for all others (Kingman 1962, Köllerström 1974). `FormulaRange` says where all
/// of it has been verified.
package struct WaitingModel: Sendable, Hashable {
    /// The factor for the mean wait of M/M/c.
    package enum Correction: String, Sendable, CaseIterable, Codable {
        /// (Ca² + Cs²) / 2 (Allen 1990; exact for M/G/1, where it is Pollaczek and Khinchine's).
        case allenCunneen = "allen-cunneen"
        /// Kimura's interpolation between M/M/c, M/D/c and D/M/c (Management Science 32, 1986). It
        /// is more exact with many servers (docs/planning.md compares both with simulations) and
        /// equal for M/M/c and M/G/1.
        case kimura
    }

    package let servers: Int
    /// Mean service time of a job, in seconds.
    package let serviceSeconds: Double
    /// The squared coefficients of variation (variance over squared mean) of the times between
    /// arrivals and of service: 0 is constant, 1 exponential.
    package let arrivalCV2: Double
    package let serviceCV2: Double
    package let correction: Correction

    /// Mean number of busy servers, in erlangs.
    package let load: Double
    /// Load over servers; from 1 on the queue grows without bound.
    package let utilisation: Double
    package let probabilityOfWait: Double
    /// Mean number of waiting jobs over time; infinite if the load is at least the servers.
    package let meanQueueLength: Double
    /// Mean wait for a server, without service; infinite like the queue.
    package let meanWaitSeconds: Double

    /// Creates a model. All values are 0 or more and finite, `servers` is 1 or more.
    package init(
        servers: Int, arrivalsPerSecond: Double, serviceSeconds: Double, arrivalCV2: Double = 1,
        serviceCV2: Double = 1, correction: Correction = .kimura
    ) {
        self.init(
            servers: servers, load: arrivalsPerSecond * serviceSeconds,
            serviceSeconds: serviceSeconds, arrivalCV2: arrivalCV2, serviceCV2: serviceCV2,
            correction: correction)
    }

    /// Creates a model by the load in erlangs: arrivals per second times seconds of service.
    package init(
        servers: Int, load: Double, serviceSeconds: Double, arrivalCV2: Double = 1,
        serviceCV2: Double = 1, correction: Correction = .kimura
    ) {
        precondition(servers > 0 && load >= 0 && serviceSeconds >= 0)
        precondition(arrivalCV2 >= 0 && serviceCV2 >= 0)
        self.servers = servers
        self.load = load
        self.serviceSeconds = serviceSeconds
        self.arrivalCV2 = arrivalCV2
        self.serviceCV2 = serviceCV2
        self.correction = correction
        utilisation = load / Double(servers)
        let spare = Double(servers) - load
        let isStable = spare > 0
        let waiting = Erlang.waiting(servers: servers, load: load)
        probabilityOfWait =
            isStable
            ? ProbabilityOfWait(
                markovian: waiting, servers: Double(servers), utilisation: utilisation,
                arrivalCV2: arrivalCV2, serviceCV2: serviceCV2
            ).value : 1
        var factor =
            isStable
            ? correction.factor(
                servers: servers, utilisation: utilisation, arrivalCV2: arrivalCV2,
                serviceCV2: serviceCV2) : 1
        if correction == .kimura, arrivalCV2 > 1, waiting > 0 {
            // With many servers bursts raise the share that waits, and so the mean. The exponent is
            // fitted to simulations (docs/planning.md).
            factor *= pow(probabilityOfWait / waiting, 1 - 1 / Double(servers).squareRoot())
        }
        meanWaitSeconds = isStable ? waiting * serviceSeconds / spare * factor : .infinity
        meanQueueLength = isStable ? waiting * load / spare * factor : .infinity
    }

    /// Returns the wait that a share of `quantile` (0 to 1) of all jobs does not exceed, in
    /// seconds.
    package func waitSeconds(quantile: Double) -> Double {
        precondition((0...1).contains(quantile))
        guard meanWaitSeconds.isFinite else { return .infinity }
        let later = 1 - quantile
        guard probabilityOfWait > later else { return 0 }
        return meanWaitSeconds / probabilityOfWait * log(probabilityOfWait / later)
    }

    /// Returns the share of jobs that wait at most `withinSeconds`; 0 for a growing queue.
    package func serviceLevel(withinSeconds: Double) -> Double {
        precondition(withinSeconds >= 0)
        guard meanWaitSeconds.isFinite else { return 0 }
        guard probabilityOfWait > 0 else { return 1 }
        let timesMean = withinSeconds * probabilityOfWait / meanWaitSeconds
        return 1 - probabilityOfWait * (timesMean.isNaN ? 1 : exp(-timesMean))
    }
}

extension WaitingModel.Correction {
    /// Maximum CV² of service for Kimura's interpolation alone (docs/planning.md).
    package static let maxInterpolatedCV2 = 4.0

    /// Returns the factor for the mean wait of M/M/c; `utilisation` is below 1.
    func factor(
        servers: Int, utilisation: Double, arrivalCV2: Double, serviceCV2: Double
    ) -> Double {
        let plain = (arrivalCV2 + serviceCV2) / 2
        guard self == .kimura, utilisation > 0, plain > 0 else { return plain }
        let count = Double(servers)
        let idle = 1 - utilisation
        // M/D/c and D/M/c relative to M/M/c: Cosmetatos 1975 with Whitt's bound (1993, 2.16).
        let bend = min(
            0.24,
            idle * (count - 1) * ((4 + 5 * count).squareRoot() - 2) / (16 * count * utilisation))
        let fixedService = (1 + bend) / 2
        let arrival = min(1, arrivalCV2)
        var sum = (1 - serviceCV2) / fixedService + 2 * (arrival + serviceCV2 - 1)
        if arrival < 1 {
            let fixedArrivals = (1 - 4 * bend) / 2 * exp(-2 * idle / (3 * utilisation))
            sum += (1 - arrival) / fixedArrivals
        }
        // Arrivals burstier than Poisson follow Allen and Cunneen.
        let bursts = arrivalCV2 > 1 ? (arrivalCV2 + serviceCV2) / (1 + serviceCV2) : 1
        // Kimura's factor stays bounded as service varies more, real waits do not: simulated waits
        // are about halfway to Allen and Cunneen's.
        let share = min(0.5, max(0, serviceCV2 - Self.maxInterpolatedCV2) / 32)
        let interpolated = (arrival + serviceCV2) / sum
        return bursts * (interpolated + share * ((arrival + serviceCV2) / 2 - interpolated))
    }
}

// MARK: Number of servers

extension WaitingModel {
    /// Returns the minimum number of servers with which a share of `targetLevel` waits at most
    /// `withinSeconds`; nil if more than `atMost` are needed.
    package static func fewestServers(
        arrivalsPerSecond: Double, serviceSeconds: Double, arrivalCV2: Double = 1,
        serviceCV2: Double = 1, correction: Correction = .kimura, targetLevel: Double,
        withinSeconds: Double, atMost: Int
    ) -> Int? {
        fewestServers(
            load: arrivalsPerSecond * serviceSeconds, serviceSeconds: serviceSeconds,
            arrivalCV2: arrivalCV2, serviceCV2: serviceCV2, correction: correction,
            targetLevel: targetLevel, withinSeconds: withinSeconds, atMost: atMost)
    }

    /// Returns the same by the load in erlangs.
    package static func fewestServers(
        load: Double, serviceSeconds: Double, arrivalCV2: Double = 1, serviceCV2: Double = 1,
        correction: Correction = .kimura, targetLevel: Double, withinSeconds: Double,
        atMost: Int
    ) -> Int? {
        guard load < Double(atMost) else { return nil }
        return minSufficient(from: max(1, Int(saturating: load)), atMost: atMost) { servers in
            WaitingModel(
                servers: servers, load: load, serviceSeconds: serviceSeconds,
                arrivalCV2: arrivalCV2, serviceCV2: serviceCV2, correction: correction
            ).serviceLevel(withinSeconds: withinSeconds) >= targetLevel
        }
    }

    /// Returns ⌈a + β√a⌉ with the β for which a share of `targetProbabilityOfWait` (above 0, up to
    /// 1) waits as the load grows: P = 1 / (1 + β Φ(β) / φ(β)) (Halfin and Whitt 1981).
    package static func squareRootStaffing(
        load: Double, targetProbabilityOfWait: Double
    ) -> Int {
        precondition(load >= 0 && load < 1e15)
        precondition(targetProbabilityOfWait > 0 && targetProbabilityOfWait <= 1)
        var (low, high) = (0.0, 40.0)
        while high - low > 1e-12 {
            let middle = (low + high) / 2
            if halfinWhitt(middle) > targetProbabilityOfWait { low = middle } else { high = middle }
        }
        // Subtracts the rest of the bisection, so that a whole number of servers is not rounded up.
        return max(1, Int(saturating: (load + high * load.squareRoot() - 1e-6).rounded(.up)))
    }

    /// Returns the probability of waiting if the servers are the load plus `beta` times its square
    /// root.
    private static func halfinWhitt(_ beta: Double) -> Double {
        let density = exp(-beta * beta / 2) / (2 * Double.pi).squareRoot()
        let below = erfc(-beta / 2.0.squareRoot()) / 2
        return density / (density + beta * below)
    }
}
