/// Returns "Did you mean …?" with the candidate nearest to `word`, if one is near enough.
package func suggestion(for word: String, from candidates: [String]) -> String? {
    let nearest = candidates.map { ($0, editDistance(word, $0)) }.min { $0.1 < $1.1 }
    guard let nearest, nearest.1 <= max(2, word.count / 3) else { return nil }
    return "Did you mean \(nearest.0)?"
}

/// Returns the minimum number of insertions, removals, replacements and swaps of neighbours that
/// turn one word into the other (optimal string alignment).
func editDistance(_ left: String, _ right: String) -> Int {
    // A word of unbounded length would cost its square; nothing that long is a misspelling.
    let (left, right) = (Array(left.prefix(64)), Array(right.prefix(64)))
    var rows = [[Int]](
        repeating: [Int](repeating: 0, count: right.count + 1), count: left.count + 1)
    for row in 0...left.count { rows[row][0] = row }
    for column in 0...right.count { rows[0][column] = column }
    guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
    for row in 1...left.count {
        for column in 1...right.count {
            let isEqual = left[row - 1] == right[column - 1]
            var best = min(
                rows[row - 1][column] + 1, rows[row][column - 1] + 1,
                rows[row - 1][column - 1] + (isEqual ? 0 : 1))
            if row > 1, column > 1, left[row - 1] == right[column - 2],
                left[row - 2] == right[column - 1]
            {
                best = min(best, rows[row - 2][column - 2] + 1)
            }
            rows[row][column] = best
        }
    }
    return rows[left.count][right.count]
}
