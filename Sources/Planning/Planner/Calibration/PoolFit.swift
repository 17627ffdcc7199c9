import Glibc
import Statistics

/// A bottleneck model of a pool, fitted to finished runs.
///
/// A transfer takes the latency plus its bytes over a connection's bandwidth. A run takes a fixed
/// time plus the longest of: rounds of transfers in all slots, its bytes over the workers'
/// ceilings, its segments and bytes over the origin's limits. Limits that the reports state are
/// known; others are fitted if runs are slower than the rest of the model explains.
package struct PoolFit: Sendable {
    package enum Parameter: Int, CaseIterable, Sendable {
        case startSeconds, latencySeconds, secondsPerByte
        /// Bytes per second of a worker, and of the origin; requests per second of the origin.
        case workerBytes, originBytes, originRequests

        static let always: [Parameter] = [.startSeconds, .latencySeconds, .secondsPerByte]
        static let ceilings: [Parameter] = [.workerBytes, .originBytes, .originRequests]

        /// Assumed likely value and its uncertainty as a standard deviation of the logarithm.
        ///
        /// They decide only what runs leave open.
        fileprivate func prior(_ runs: [RunCheck.Run]) -> (value: Double, deviation: Double) {
            switch self {
            case .startSeconds: (0.1, 1)
            case .latencySeconds: (0.05, 2)
            case .secondsPerByte: (8 / 100e6, 2.5)
            case .workerBytes, .originBytes, .originRequests: (highest(runs), 3)
            }
        }

        /// The highest value seen in any run: a lower bound of a ceiling.
        fileprivate func highest(_ runs: [RunCheck.Run]) -> Double {
            runs.map { run in
                switch self {
                case .workerBytes: run.bytes / run.seconds / Double(run.workers)
                case .originBytes: run.bytes / run.seconds
                default: run.segments / run.seconds
                }
            }.max() ?? 1
        }
    }

    /// A fitted value with its 95 % interval.
    package struct Fitted: Sendable {
        package let low: Double
        package let likely: Double
        package let high: Double
        /// True if the runs determine it, rather than the assumption before them.
        package let isDetermined: Bool
    }

    package let runs: [RunCheck.Run]
    package private(set) var values: [Parameter: Fitted] = [:]
    /// Ceilings that explain the runs as well as the fitted one.
    package private(set) var rivals: [Parameter] = []
    /// Predicted over measured time of each run, minus one.
    package private(set) var errors: [Double] = []

    /// Standard deviations of the logarithms of a run's time and of its mean fetch time.
    private static let timeNoise = 0.03
    private static let fetchNoise = 0.02
    /// Standard deviation of a logarithm below which a value counts as determined.
    private static let determined = 0.25

    /// Fits the model to one run or more, each with its connections. Throws for impossible figures.
    package init(_ runs: [RunCheck.Run]) throws(PlannerError) {
        for run in runs { try run.check() }
        self.runs = runs
        var chosen = Parameter.always
        var best = Self.solve(chosen, runs)
        // One odd time is an outlier, not a ceiling.
        while Self.unexplained(runs, chosen, best) > 1 {
            let others = Parameter.ceilings.filter { !chosen.contains($0) }.map {
                (parameter: $0, fit: Self.solve(chosen + [$0], runs))
            }
            guard let next = others.min(by: { $0.fit.cost < $1.fit.cost - 1e-6 }),
                best.cost - next.fit.cost > 6, next.fit.cost < best.cost / 2,
                Self.slowed(by: next.parameter, runs, chosen, next.fit) > 1
            else { break }
            rivals += others.filter {
                $0.parameter != next.parameter && $0.fit.cost < next.fit.cost + 2
            }.map(\.parameter)
            chosen.append(next.parameter)
            best = next.fit
        }
        let model = Model(chosen, best.parameters)
        errors = runs.map { model.seconds($0) / $0.seconds - 1 }
        let observations = runs.count + runs.count { $0.fetchSeconds != nil }
        let freedom = max(1, observations - chosen.count)
        let noise = max(1, (2 * best.cost / Double(freedom)).squareRoot())
        for (index, parameter) in chosen.enumerated() {
            let deviation = best.covariance[index][index].squareRoot() * noise
            let likely = exp(best.parameters[index])
            values[parameter] = Fitted(
                low: likely * exp(-1.96 * deviation), likely: likely,
                high: likely * exp(1.96 * deviation),
                isDetermined: deviation < Self.determined)
        }
    }

    /// Returns the number of times, of runs and of their fetches, that are two standard deviations
    /// or more off.
    private static func unexplained(
        _ runs: [RunCheck.Run], _ chosen: [Parameter], _ fit: LeastSquares
    ) -> Int {
        residuals(Model(chosen, fit.parameters), runs).count { abs($0) > 2 }
    }

    /// Returns the errors of a model in standard deviations.
    private static func residuals(_ model: Model, _ runs: [RunCheck.Run]) -> [Double] {
        runs.flatMap { run in
            let time = log(model.seconds(run) / run.seconds) / timeNoise
            // A limit of bytes per second slows transfers down by an unknown part.
            guard let fetch = run.fetchSeconds, fetch > 0, run.limits?.bytesPerSecond == nil else {
                return [time]
            }
            return [time, log(model.fetchSeconds(run) / fetch) / fetchNoise]
        }
    }

    /// Returns the number of runs that a ceiling slows down: one alone may be slow for any reason.
    private static func slowed(
        by ceiling: Parameter, _ runs: [RunCheck.Run], _ others: [Parameter], _ fit: LeastSquares
    ) -> Int {
        let (with, without) = (
            Model(others + [ceiling], fit.parameters), Model(others, fit.parameters.dropLast())
        )
        return runs.count { with.seconds($0) > 1.05 * without.seconds($0) }
    }

    private static func solve(_ chosen: [Parameter], _ runs: [RunCheck.Run]) -> LeastSquares {
        let priors = chosen.map { $0.prior(runs) }
        func residuals(_ logarithms: [Double]) -> [Double] {
            zip(logarithms, priors).map { ($0 - log($1.value)) / $1.deviation }
                + Self.residuals(Model(chosen, logarithms), runs)
        }
        var best: LeastSquares?
        for latency in [0.01, 0.2] {
            for bandwidth in [1e6, 1e7, 1e8] {
                let start = zip(chosen, priors).map { parameter, prior in
                    switch parameter {
                    case .latencySeconds: log(latency)
                    case .secondsPerByte: log(1 / bandwidth)
                    default: log(prior.value)
                    }
                }
                let fit = LeastSquares(from: start, residuals)
                if best.map({ fit.cost < $0.cost }) ?? true { best = fit }
            }
        }
        return best ?? LeastSquares(from: priors.map { log($0.value) }, residuals)
    }

    /// The model with one value for each parameter; a missing ceiling does not limit.
    private struct Model {
        private var numbers = Parameter.allCases.map { $0.rawValue < 3 ? 0 : Double.infinity }

        init(_ chosen: [Parameter], _ logarithms: some Sequence<Double>) {
            for (parameter, logarithm) in zip(chosen, logarithms) {
                // Bounded, so that no step of the descent overflows.
                numbers[parameter.rawValue] = exp(min(max(logarithm, -60), 60))
            }
        }

        private subscript(_ parameter: Parameter) -> Double { numbers[parameter.rawValue] }

        private func time(_ run: RunCheck.Run) -> RunTime {
            let workers = Double(run.workers)
            let slots = min(
                workers * (run.connections ?? 1), run.limits?.connections ?? .infinity)
            let size = run.bytes / run.segments
            let seconds = self[.latencySeconds] + size * self[.secondsPerByte]
            let stated = (run.limits?.bytesPerSecond ?? .infinity) * RunLimits.bandwidthUse
            return RunTime(
                slots: slots, transferSeconds: seconds, slotsPerSecond: slots / seconds,
                workersPerSecond: workers * self[.workerBytes] / size,
                requestsPerSecond: min(
                    self[.originRequests], run.limits?.requestsPerSecond ?? .infinity),
                requestWindowSeconds: run.limits?.requestsPerSecond == nil
                    ? 1 : RunLimits.requestWindowSeconds(latencySeconds: self[.latencySeconds]),
                bytesPerSecond: min(self[.originBytes], stated))
        }

        func seconds(_ run: RunCheck.Run) -> Double {
            self[.startSeconds]
                + time(run).seconds(segments: run.segments, bytes: run.bytes / run.segments)
        }

        /// A ceiling that no limit of the cluster causes keeps all slots busy for longer (Little).
        func fetchSeconds(_ run: RunCheck.Run) -> Double {
            var time = time(run)
            if run.limits?.requestsPerSecond != nil { time.requestsPerSecond = .infinity }
            let rate = time.segmentsPerSecond(bytes: run.bytes / run.segments)
            return max(time.transferSeconds, time.slots / rate)
        }
    }

    /// The lower bound of a ceiling that no run reached.
    package func highest(_ parameter: Parameter) -> Double { parameter.highest(runs) }
}
