/// Limits of a site's space and bandwidth, and the order of titles.
package struct FillLimits: Sendable, Hashable {
    /// By what titles are ordered: wanted for each byte that they store.
    package enum Order: String, Sendable, CaseIterable, Codable {
        case bytes
        case requests
    }

    package var storageBytes: Double
    /// Bytes that fit into a window; infinite without one.
    package var bytesPerFill: Double
    package var order: Order

    package init(storageBytes: Double, bytesPerFill: Double = .infinity, order: Order = .bytes) {
        self.storageBytes = storageBytes
        self.bytesPerFill = bytesPerFill
        self.order = order
    }
}

/// The titles at a site, filled and evicted once a slice.
struct SiteFill {
    let sizes: [Double]
    let limits: FillLimits
    private(set) var isStored: [Bool]
    private(set) var storedBytes = 0.0
    /// The part of a window that a title too large for it has used.
    private var carriedBytes = 0.0

    /// - Parameter sizes: by title; 0 if it is unknown, and the title cannot be stored.
    init(sizes: [Double], limits: FillLimits) {
        self.sizes = sizes
        self.limits = limits
        isStored = [Bool](repeating: false, count: sizes.count)
    }

    /// Returns titles in order, the most wanted for each of its bytes first. Those without requests
    /// or size are left out; of equal ones the first comes first.
    static func ranked(
        _ wanted: [FillHistory.Count], sizes: [Double], by order: FillLimits.Order
    ) -> [Int] {
        func value(_ title: Int) -> Double {
            (order == .bytes ? wanted[title].bytes : wanted[title].requests) / sizes[title]
        }
        return wanted.indices.filter { sizes[$0] > 0 && wanted[$0].requests > 0 }
            .map { (title: $0, value: value($0)) }
            .sorted { ($0.value, $1.title) > ($1.value, $0.title) }
            .map(\.title)
    }

    /// Returns the head of `ranked` that fits into the storage. A title that does not fit is
    /// skipped.
    static func head(_ ranked: [Int], sizes: [Double], storageBytes: Double) -> [Int] {
        var left = storageBytes
        return ranked.filter { title in
            guard sizes[title] <= left else { return false }
            left -= sizes[title]
            return true
        }
    }

    /// Fetches what is wanted most, within the window, and evicts what is wanted least. Returns the
    /// fetched bytes.
    mutating func fill(_ wanted: [FillHistory.Count], isWhole: Bool = false) -> Double {
        let ranked = Self.ranked(wanted, sizes: sizes, by: limits.order)
        let head = Self.head(ranked, sizes: sizes, storageBytes: limits.storageBytes)
        var left = (isWhole ? .infinity : limits.bytesPerFill) + carriedBytes
        carriedBytes = 0
        var fetched = 0.0
        for title in head where !isStored[title] {
            guard sizes[title] <= left else {
                // Its transfer continues in the next window.
                carriedBytes = left
                break
            }
            left -= sizes[title]
            fetched += sizes[title]
            isStored[title] = true
            storedBytes += sizes[title]
        }
        evict(keeping: head, ranked)
        return fetched
    }

    private mutating func evict(keeping head: [Int], _ ranked: [Int]) {
        guard storedBytes > limits.storageBytes else { return }
        var rank = [Int](repeating: .max, count: sizes.count)
        for (index, title) in ranked.enumerated() { rank[title] = index }
        var isKept = [Bool](repeating: false, count: sizes.count)
        for title in head { isKept[title] = true }
        let others = isStored.indices.filter { isStored[$0] && !isKept[$0] }
        for title in others.sorted(by: { (rank[$0], $0) > (rank[$1], $1) })
        where storedBytes > limits.storageBytes {
            isStored[title] = false
            storedBytes -= sizes[title]
        }
    }

    /// Returns the requests and bytes of a slice that the site would have served.
    func served(_ slice: FillHistory.Slice) -> FillHistory.Count {
        slice.titles.reduce(into: FillHistory.Count()) { sum, entry in
            if isStored[Int(entry.key)] { sum.add(entry.value) }
        }
    }
}
