import Glibc
import Planner
import Statistics

/// Requests of titles by Zipf's law, of which some are replaced by new ones each day.
struct SyntheticRequests {
    let titles: Int
    let requestsPerDay: Int
    let exponent: Double
    /// Share of the ranks from `churnFrom` on that go to a new title each day.
    let churn: Double
    let churnFrom: Int
    private var random: SeededRandom
    private var ranks: [Int]
    private var next: Int
    private let cumulative: [Double]

    init(
        titles: Int, requestsPerDay: Int, exponent: Double, churn: Double, churnFrom: Int = 20,
        seed: UInt64
    ) {
        self.churnFrom = churnFrom
        (self.titles, self.requestsPerDay) = (titles, requestsPerDay)
        (self.exponent, self.churn) = (exponent, churn)
        random = SeededRandom(seed: seed)
        ranks = Array(0..<titles)
        next = titles
        var sum = 0.0
        cumulative = (0..<titles).map {
            sum += pow(Double($0 + 1), -exponent)
            return sum
        }
    }

    /// Size of a title: 1 to 16 units, no matter how popular it is.
    static func bytes(_ title: Int) -> Double {
        var random = SeededRandom(seed: UInt64(title) &+ 99)
        return (1 + 15 * random.uniform() * random.uniform()).rounded() * 1e6
    }

    /// Number of titles so far.
    var count: Int { next }

    /// Returns the titles that are requested on the next day.
    mutating func day() -> [Int] {
        for rank in ranks.indices.dropFirst(churnFrom) where random.uniform() < churn {
            ranks[rank] = next
            next += 1
        }
        return (0..<requestsPerDay).map { _ in
            let wanted = random.uniform() * (cumulative.last ?? 1)
            var (low, high) = (0, titles - 1)
            while low < high {
                let middle = (low + high) / 2
                if cumulative[middle] < wanted { low = middle + 1 } else { high = middle }
            }
            return ranks[low]
        }
    }

    static func request(_ title: Int, day: Int) -> FileRequest {
        FileRequest(key: "o/\(title)", time: Double(day) * 86_400 + 1, bytes: bytes(title))
    }
}
