/// Requests of titles at one site, by slices of time, from access logs.
///
/// Memory is bounded: beyond `maxSlices`, or `maxCounts` of titles in slices, the oldest slices are
/// dropped.
package struct FillHistory: Sendable {
    package struct Count: Sendable, Hashable {
        package var requests = 0.0
        package var bytes = 0.0

        package init(requests: Double = 0, bytes: Double = 0) {
            self.requests = requests
            self.bytes = bytes
        }

        package mutating func add(_ other: Count) {
            requests += other.requests
            bytes += other.bytes
        }
    }

    /// The requests of a slice.
    package struct Slice: Sendable {
        /// By index of the title.
        package var titles: [Int32: Count] = [:]
        /// Count of all files, also of those that belong to no title.
        package var total = Count()
    }

    package static let maxSlices = 64
    private static let maxCounts = 4_000_000

    package let sliceSeconds: Double
    private var byNumber: [Int: Slice] = [:]
    private var counts = 0
    private var oldest = Int.min
    /// Requests in slices that were dropped.
    package private(set) var droppedRequests = 0.0

    package init(sliceSeconds: Double) { self.sliceSeconds = sliceSeconds }

    /// Slices from the first to the last, also those without requests.
    package var slices: [Slice] {
        guard let first = byNumber.keys.min(), let last = byNumber.keys.max() else { return [] }
        return (first...last).map { byNumber[$0] ?? Slice() }
    }

    /// Requests of each title in all slices.
    package var requests: Double { byNumber.values.reduce(0) { $0 + $1.total.requests } }

    package mutating func add(_ request: FileRequest, title: Int?) {
        let number = Int((request.time / sliceSeconds).rounded(.down))
        guard number >= oldest else {
            droppedRequests += 1
            return
        }
        let count = Count(requests: 1, bytes: request.bytes)
        byNumber[number, default: Slice()].total.add(count)
        if let title {
            let index = Int32(title)
            if byNumber[number]?.titles[index] == nil { counts += 1 }
            byNumber[number]?.titles[index, default: Count()].add(count)
        }
        while counts > Self.maxCounts && byNumber.count > 2 || isTooLong { dropOldest() }
    }

    private var isTooLong: Bool {
        guard byNumber.count > 1, let first = byNumber.keys.min(), let last = byNumber.keys.max()
        else { return false }
        return last - first >= Self.maxSlices
    }

    private mutating func dropOldest() {
        guard let first = byNumber.keys.min(), let slice = byNumber.removeValue(forKey: first)
        else { return }
        counts -= slice.titles.count
        droppedRequests += slice.total.requests
        oldest = first + 1
    }
}

/// Measures the sizes of titles by the largest answers that access logs have of their files.
package struct SeenSizes: Sendable {
    private static let maxFiles = 4_000_000

    private var files: [UInt64: Float] = [:]
    /// By index of the title.
    package private(set) var titles: [Int: Double] = [:]
    /// True if there were more files than are held: sizes are too small.
    package private(set) var isFull = false

    package init() {}

    package mutating func add(_ request: FileRequest, title: Int) {
        guard request.bytes > 0 else { return }
        var hasher = Hasher()
        hasher.combine(request.key)
        let file = UInt64(bitPattern: Int64(hasher.finalize()))
        let before = Double(files[file] ?? 0)
        guard request.bytes > before else { return }
        guard before > 0 || files.count < Self.maxFiles else { return isFull = true }
        // Rounded up, so that the same length is no growth.
        let bytes = Float(request.bytes).nextUp
        files[file] = bytes
        titles[title, default: 0] += Double(bytes) - before
    }
}
