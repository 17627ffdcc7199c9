/// The rows of a test's series, in order. A row is one second at first and more as the test
/// continues, so that there are at most `most`.
///
/// At that limit each new row merges two adjacent ones: to two seconds from the start on, then to
/// four, and so on. A value: used by one owner at a time.
package struct LoadSeries: Sendable {
    /// An hour in seconds; a week in rows of up to eight minutes.
    package static let most = 3_600

    package private(set) var rows: [LoadSecond] = []
    private let most: Int
    /// Length to which rows are merged, and the index from which on none is merged yet.
    private var targetSeconds = 2.0
    private var cursor = 0

    /// Creates an empty series.
    ///
    /// - Parameter most: maximum number of rows, 4 or more.
    package init(most: Int = LoadSeries.most) { self.most = max(most, 4) }

    /// Adds a row. Rows come in order, except those of a late shard.
    package mutating func add(_ row: LoadSecond) {
        let index = rows.lastIndex { $0.second < row.second }.map { $0 + 1 } ?? 0
        rows.insert(row, at: index)
        if rows.count > most { putTogether() }
    }

    /// The rows at the end of a test, all of the same length except around the warm-up and at the
    /// end.
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

    /// Merges one pair of rows, if any pair can be merged.
    private mutating func putTogether() {
        // Two passes over all rows with a sufficient target find a pair, if there is one.
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
