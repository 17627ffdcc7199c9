/// A straight line fitted to measured points by least squares, with 95 % intervals from three
/// points on.
package struct LineFit {
    /// Value at x = 0.
    package let start: Measured
    /// Increase of y per unit of x.
    package let slope: Measured
    /// The mean of x, and the value of y there.
    package let middleSize: Double
    package let middle: Measured

    /// Fits a line to two points or more with different x.
    package init(_ points: [(x: Double, y: Double)]) {
        precondition(points.count > 1)
        let count = Double(points.count)
        let meanX = points.reduce(0) { $0 + $1.x } / count
        let meanY = points.reduce(0) { $0 + $1.y } / count
        let spread = points.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
        precondition(spread > 0)
        let gain = points.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) } / spread
        let begin = meanY - gain * meanX
        let left = points.reduce(0) { sum, point in
            let difference = point.y - begin - gain * point.x
            return sum + difference * difference
        }
        let isSure = points.count > 2
        let noise = isSure ? left / (count - 2) : 0
        let t = isSure ? studentT95(points.count - 2) : 0
        func measured(_ value: Double, _ variance: Double) -> Measured {
            let margin = t * variance.squareRoot()
            return Measured(
                low: value - margin, likely: value, high: value + margin, count: points.count,
                isInterval: isSure)
        }
        start = measured(begin, noise * (1 / count + meanX * meanX / spread))
        slope = measured(gain, noise / spread)
        middleSize = meanX
        middle = measured(meanY, noise / count)
    }
}
