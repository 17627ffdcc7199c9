/// The rows of a test's series, in order: each a second at first, and more as the test goes on, so that there
/// are never more than `most`.
///
/// With that many, each new row has two neighbours put together: by two seconds from the start on, then by four,
/// and so on. A value: used by one owner at a time.
package struct LoadSeries: Sendable {
    /// An hour by seconds; a week by eight minutes at most.
    package static let most = 3_600

    package private(set) var rows: [LoadSecond] = []
    private let most: Int
    /// What rows are put together to, and from which on none has been yet.
    private var targetSeconds = 2.0
    private var cursor = 0

    /// - Parameter most: 4 or more.
    package init(most: Int = LoadSeries.most) { self.most = max(most, 4) }

    /// Takes a row; they come in order, but for those of a share that was late.
    package mutating func add(_ row: LoadSecond) {
        let place = rows.lastIndex { $0.second < row.second }.map { $0 + 1 } ?? 0
        rows.insert(row, at: place)
        if rows.count > most { putTogether() }
    }

    /// The rows at the end of a test: all of the same length, but for what the warm-up and the end leave.
    package var evenRows: [LoadSecond] {
        guard let longest = rows.map(\.lengthSeconds).max(), longest > 1 else { return rows }
        return rows.reduce(into: []) { even, row in
            if let last = even.last, Self.canBeOne(last, row, seconds: longest) {
                even[even.count - 1].add(row)
            } else {
                even.append(row)
            }
        }
    }

    private static func canBeOne(_ row: LoadSecond, _ next: LoadSecond, seconds: Double) -> Bool {
        row.isMeasured == next.isMeasured && row.lengthSeconds + next.lengthSeconds <= seconds
    }

    /// Makes one of two rows, where there are two that may be.
    private mutating func putTogether() {
        // Twice through all of them with a target that is large enough finds a pair, if there is one.
        for _ in 0..<(64 * rows.count) {
            guard cursor + 1 < rows.count else {
                cursor = 0
                targetSeconds *= 2
                guard targetSeconds < 1e12 else { return }
                continue
            }
            guard Self.canBeOne(rows[cursor], rows[cursor + 1], seconds: targetSeconds) else {
                cursor += 1
                continue
            }
            let next = rows.remove(at: cursor + 1)
            rows[cursor].add(next)
            return
        }
    }
}
