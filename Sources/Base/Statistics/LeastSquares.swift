import Glibc

/// A robust non-linear least-squares fit of a few parameters.
///
/// Descends by Levenberg and Marquardt's method with numeric derivatives. Residuals count by
/// Huber's loss (1964): beyond two standard deviations they grow linearly, so that one outlier does
/// not decide. Derivatives may be 0 where a parameter has no influence, if another residual (a
/// prior) depends on it.
package struct LeastSquares: Sendable {
    package private(set) var parameters: [Double]
    /// Half the sum of the losses.
    package private(set) var cost: Double
    /// Inverse of the weighted JᵀJ: the variances and covariances of the parameters, if residuals
    /// have a variance of 1.
    package private(set) var covariance: [[Double]]

    private static let maxSteps = 200
    /// Residual in standard deviations from which the loss is linear.
    private static let outlier = 2.0

    /// Fits from `start`; `residuals` are in standard deviations, and finite.
    package init(from start: [Double], _ residuals: ([Double]) -> [Double]) {
        var here = start
        var cost = Self.cost(residuals(here))
        var damping = 1e-3
        for _ in 0..<Self.maxSteps {
            let (curvature, slope) = Self.normalEquations(here, residuals)
            let damped = curvature.indices.map { row in
                curvature.indices.map { column in
                    curvature[row][column] * (row == column ? 1 + damping : 1)
                }
            }
            let step = Self.solved(damped, [slope])?.first
            let next = step.map { zip(here, $0).map { $0 - $1 } }
            let nextCost = next.map { Self.cost(residuals($0)) } ?? .infinity
            if let next, nextCost < cost {
                let isEnough = cost - nextCost <= 1e-12 * cost
                (here, cost) = (next, nextCost)
                damping = max(1e-9, damping / 10)
                if isEnough { break }
            } else {
                damping *= 10
                if damping > 1e9 { break }
            }
        }
        parameters = here
        self.cost = cost
        let (curvature, _) = Self.normalEquations(here, residuals)
        let unit = here.indices.map { row in here.indices.map { $0 == row ? 1.0 : 0 } }
        covariance = Self.solved(curvature, unit) ?? unit.map { $0.map { $0 * 1e12 } }
    }

    private static func cost(_ residuals: [Double]) -> Double {
        residuals.reduce(0) { sum, residual in
            let size = abs(residual)
            return sum
                + (size <= outlier ? size * size / 2 : outlier * (size - outlier / 2))
        }
    }

    /// Returns the weighted JᵀJ and Jᵀr at `parameters`.
    private static func normalEquations(
        _ parameters: [Double], _ residuals: ([Double]) -> [Double]
    ) -> ([[Double]], [Double]) {
        let here = residuals(parameters)
        let columns = parameters.indices.map { index in
            var (above, below) = (parameters, parameters)
            let step = 1e-5 * max(1, abs(parameters[index]))
            above[index] += step
            below[index] -= step
            return zip(residuals(above), residuals(below)).map { ($0 - $1) / (2 * step) }
        }
        let weights = here.map { min(1, outlier / max(abs($0), 1e-300)) }
        func sum(_ one: [Double], _ other: [Double]) -> Double {
            weights.indices.reduce(0) { $0 + weights[$1] * one[$1] * other[$1] }
        }
        return (
            columns.map { column in columns.map { sum(column, $0) } },
            columns.map { sum($0, here) }
        )
    }

    /// Solves a linear system for several right sides by Gauss and Jordan's method; nil if it is
    /// singular.
    private static func solved(_ matrix: [[Double]], _ sides: [[Double]]) -> [[Double]]? {
        let count = matrix.count
        var rows = matrix.indices.map { row in matrix[row] + sides.map { $0[row] } }
        for pivot in 0..<count {
            guard
                let best = (pivot..<count).max(by: { abs(rows[$0][pivot]) < abs(rows[$1][pivot]) }),
                abs(rows[best][pivot]) > 1e-300
            else { return nil }
            rows.swapAt(pivot, best)
            for row in 0..<count where row != pivot {
                let factor = rows[row][pivot] / rows[pivot][pivot]
                for column in pivot..<rows[row].count {
                    rows[row][column] -= factor * rows[pivot][column]
                }
            }
        }
        return sides.indices.map { side in
            (0..<count).map { rows[$0][count + side] / rows[$0][$0] }
        }
    }
}
