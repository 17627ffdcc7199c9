import Glibc

/// Popularity of titles by Zipf's law: the n-th most popular title has n^−exponent of the requests
/// of the first.
package struct ZipfPopularity: Hashable, Sendable {
    package let titles: Double
    package let exponent: Double

    package init(titles: Double, exponent: Double) {
        self.titles = max(1, titles)
        self.exponent = exponent
    }

    /// Returns the share of requests for the most popular `share` of titles.
    ///
    /// This is the hit ratio of a store that holds exactly these titles. A cache that stores what
    /// was requested last (LRU) has less.
    package func ofMostPopular(share: Double) -> Double {
        guard share < 1 else { return 1 }
        let stored = titles * max(0, share)
        // Less than the first title: a part of it.
        guard stored >= 1 else { return stored / Self.sum(titles, exponent) }
        return min(1, Self.sum(stored, exponent) / Self.sum(titles, exponent))
    }

    /// Titles that are added one by one; the rest follows from the integral (Euler–Maclaurin).
    private static let exact = 200.0

    /// Returns Σ n^−s for n from 1 to `count`, which need not be whole; within 10⁻⁶.
    static func sum(_ count: Double, _ exponent: Double) -> Double {
        let whole = min(count.rounded(.down), exact)
        var sum = 0.0
        var index = 1.0
        while index <= whole {
            sum += pow(index, -exponent)
            index += 1
        }
        guard count > whole else { return sum }
        let isOne = abs(exponent - 1) < 1e-9
        let integral =
            isOne
            ? log(count / whole)
            : (pow(count, 1 - exponent) - pow(whole, 1 - exponent)) / (1 - exponent)
        return sum + integral + (pow(count, -exponent) - pow(whole, -exponent)) / 2
    }
}
