import Glibc

/// Returns the quantile of the standard normal distribution for `share` (above 0, below 1).
///
/// Tukey's lambda gives the start value; each step of Halley's method triples the correct digits.
package func normalQuantile(_ share: Double) -> Double {
    let share = min(max(share, 1e-15), 1 - 1e-15)
    guard share != 0.5 else { return 0 }
    // The lower half avoids subtraction from 1.
    guard share < 0.5 else { return -normalQuantile(1 - share) }
    var value = 4.91 * (pow(share, 0.14) - pow(1 - share, 0.14))
    for _ in 0..<20 {
        let off = erfc(-value / 2.0.squareRoot()) / 2 - share
        let step = off * (2 * Double.pi).squareRoot() * exp(value * value / 2)
        let change = step / (1 + value * step / 2)
        value -= change
        if abs(change) < 1e-13 { break }
    }
    return value
}
