extension Scalability {
    /// Fits the law to measured `points` of workers and throughput: least squares of the
    /// throughput, with 0 ≤ α ≤ 1 and β ≥ 0.
    ///
    /// Throws for a point with fewer than 1 worker or a throughput below 1e-18, and for fewer than
    /// three different numbers of workers. The intervals come from resampled residuals (Efron and
    /// Tibshirani 1993, 9.5), always the same for the same points. Without `withCoherency` β is 0.
    package static func fit(
        _ points: [(n: Double, x: Double)], withCoherency: Bool = true
    ) throws(FitError) -> ScalabilityFit {
        for (index, point) in points.enumerated() {
            guard point.n >= 1, point.n <= 1e9 else {
                throw FitError(
                    field: "N of point \(index + 1)", given: "\(point.n)",
                    allowed: "use a number from 1 to 1,000,000,000")
            }
            guard point.x >= 1e-18, point.x <= 1e18 else {
                throw FitError(
                    field: "X of point \(index + 1)", given: "\(point.x)",
                    allowed: "use a number from 1e-18 to 1e18")
            }
        }
        let different = Set(points.map(\.n)).count
        guard different >= 3 else {
            throw FitError(
                field: "N", given: "\(different) different value\(different == 1 ? "" : "s")",
                allowed: "measure with at least 3 different numbers of workers")
        }
        let problem = ScalabilityProblem(points, withCoherency: withCoherency)
        let best = problem.best()
        let samples = problem.resampled(around: best)
        return ScalabilityFit(
            scalability: problem.scalability(best),
            alpha: interval(samples.map(\.alpha)), beta: interval(samples.map(\.beta)),
            gamma: interval(samples.map(\.gamma)), peakN: peakInterval(samples),
            rSquared: problem.rSquared(best), largestError: problem.largestError(best))
    }

    private static func interval(_ values: [Double]) -> ScalabilityFit.Interval? {
        guard !values.isEmpty else { return nil }
        let sorted = values.sorted()
        return quantile(sorted, 0.025)...quantile(sorted, 0.975)
    }

    private static func peakInterval(_ samples: [Scalability]) -> ScalabilityFit.Interval? {
        let interval = interval(samples.map { $0.peakN ?? .infinity })
        return interval.flatMap { $0.lowerBound.isFinite ? $0 : nil }
    }
}

/// Returns the quantile of `sorted`, which is not empty, by nearest rank, so that infinities are
/// harmless.
func quantile(_ sorted: [Double], _ share: Double) -> Double {
    let rank = (share * Double(sorted.count - 1)).rounded()
    return sorted[min(sorted.count - 1, max(0, Int(rank)))]
}

/// A least-squares problem for the Universal Scalability Law, scaled so that all parameters are
/// about 1.
private struct ScalabilityProblem {
    /// α(Nmax−1), βNmax(Nmax−1), γ over the largest X/N.
    typealias Parameters = (contention: Double, coherency: Double, rate: Double)

    private let numbers: [Double]
    private let throughputs: [Double]
    private let withCoherency: Bool
    /// Scales of the three parameters.
    private let scales: Parameters
    private var count: Int { numbers.count }

    init(_ points: [(n: Double, x: Double)], withCoherency: Bool) {
        self.withCoherency = withCoherency
        numbers = points.map(\.n)
        throughputs = points.map(\.x)
        let most = numbers.max() ?? 1
        let rate = points.map { $0.x / $0.n }.max() ?? 1
        scales = (1 / (most - 1), 1 / (most * (most - 1)), rate)
    }

    private init(_ problem: ScalabilityProblem, throughputs: [Double]) {
        numbers = problem.numbers
        withCoherency = problem.withCoherency
        scales = problem.scales
        self.throughputs = throughputs
    }

    func scalability(_ parameters: Parameters) -> Scalability {
        Scalability(
            alpha: min(1, parameters.contention * scales.contention),
            beta: parameters.coherency * scales.coherency, gamma: parameters.rate * scales.rate)
    }

    /// Returns the best of descents from several starts, as the sum of squares has several minima.
    func best() -> Parameters {
        var best: (parameters: Parameters, cost: Double)?
        for contention in [0, 0.3, 3, 30.0] {
            for coherency in withCoherency ? [0, 0.3, 3, 30.0] : [0] {
                let start = (min(contention, 1 / scales.contention), coherency, 1.0)
                let end = descend(from: start)
                let cost = cost(end)
                if best.map({ cost < $0.cost }) ?? true { best = (end, cost) }
            }
        }
        return best?.parameters ?? (0, 0, 1)
    }

    private func cost(_ parameters: Parameters) -> Double {
        let law = scalability(parameters)
        var sum = 0.0
        for index in 0..<count {
            let difference = law.throughput(numbers[index]) - throughputs[index]
            sum += difference * difference
        }
        return sum
    }

    /// Descends by Levenberg and Marquardt's method within the bounds.
    private func descend(from start: Parameters) -> Parameters {
        var here = start
        var cost = cost(here)
        var damping = 1e-3
        for _ in 0..<500 {
            let (curvature, slope) = normalEquations(here)
            let isFree = [
                !(here.contention <= 0 && slope[0] > 0)
                    && !(here.contention * scales.contention >= 1 && slope[0] < 0),
                withCoherency && !(here.coherency <= 0 && slope[1] > 0), true,
            ]
            let step = solve(curvature, slope, damping: damping, isFree: isFree)
            let next: Parameters = (
                min(max(0, here.contention - step[0]), 1 / scales.contention),
                max(0, here.coherency - step[1]), max(1e-12, here.rate - step[2])
            )
            let nextCost = self.cost(next)
            if nextCost < cost {
                let isEnough = cost - nextCost <= 1e-15 * cost
                (here, cost) = (next, nextCost)
                damping = max(1e-12, damping / 10)
                if isEnough { break }
            } else {
                damping *= 10
                if damping > 1e10 { break }
            }
        }
        return here
    }

    /// Returns JᵀJ and Jᵀr at `parameters`.
    private func normalEquations(_ parameters: Parameters) -> ([[Double]], [Double]) {
        let law = scalability(parameters)
        var curvature = [[Double]](repeating: [0, 0, 0], count: 3)
        var slope = [0.0, 0, 0]
        for index in 0..<count {
            let n = numbers[index]
            let value = law.throughput(n)
            let efficiency = law.efficiency(n)
            let row = [
                -value * efficiency * (n - 1) * scales.contention,
                -value * efficiency * n * (n - 1) * scales.coherency, value / parameters.rate,
            ]
            let difference = value - throughputs[index]
            for first in 0..<3 {
                slope[first] += row[first] * difference
                for second in 0..<3 { curvature[first][second] += row[first] * row[second] }
            }
        }
        return (curvature, slope)
    }

    /// Returns the step of the free parameters; 0 for the others.
    private func solve(
        _ curvature: [[Double]], _ slope: [Double], damping: Double, isFree: [Bool]
    ) -> [Double] {
        var rows = (0..<3).map { row in
            (0..<3).map { column in
                if !isFree[row] || !isFree[column] { return row == column ? 1.0 : 0 }
                let value = curvature[row][column]
                return row == column ? value * (1 + damping) + 1e-300 : value
            } + [isFree[row] ? slope[row] : 0]
        }
        // Positive definite: no pivoting needed.
        for pivot in 0..<3 {
            for row in 0..<3 where row != pivot {
                let factor = rows[row][pivot] / rows[pivot][pivot]
                for column in pivot..<4 { rows[row][column] -= factor * rows[pivot][column] }
            }
        }
        return (0..<3).map { row in
            let step = rows[row][3] / rows[row][row]
            return step.isFinite ? step : 0
        }
    }
}

// MARK: Quality of the fit

extension ScalabilityProblem {
    /// Fits the curve with resampled residuals; returns none unless there are more points than
    /// parameters.
    func resampled(around best: Parameters) -> [Scalability] {
        guard count > 3 else { return [] }
        let law = scalability(best)
        let fitted = numbers.map { law.throughput($0) }
        // Residuals of a fit are smaller than the errors, because parameters were fitted.
        let inflation = (Double(count) / Double(count - 3)).squareRoot()
        let residuals = zip(throughputs, fitted).map { ($0 - $1) * inflation }
        var random = SeededRandom(seed: 6)
        return (0..<min(1_000, max(100, 2_000_000 / count))).map { _ in
            let drawn = fitted.map { value in
                max(value * 1e-3, value + residuals[Int.random(in: 0..<count, using: &random)])
            }
            let problem = ScalabilityProblem(self, throughputs: drawn)
            return problem.scalability(problem.descend(from: best))
        }
    }

    func rSquared(_ best: Parameters) -> Double {
        let mean = throughputs.reduce(0, +) / Double(count)
        let variation = throughputs.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        return variation > 0 ? 1 - cost(best) / variation : 1
    }

    func largestError(_ best: Parameters) -> Double {
        let law = scalability(best)
        return zip(numbers, throughputs).map { abs(law.throughput($0) - $1) / $1 }.max() ?? 0
    }
}
