/// Cuts a log into lines, as its chunks come in.
struct LogLines: Sendable {
    /// Maximum length of a line; longer ones are skipped.
    static let longestLine = 64 << 10

    private var held: [UInt8] = []
    private var isSkipping = false

    /// Calls `take` for each line that ends in `piece`, without the end of the line; with nil for one
    /// that is too long.
    mutating func read<Problem: Error>(
        _ piece: [UInt8], _ take: (ArraySlice<UInt8>?) throws(Problem) -> Void
    ) throws(Problem) {
        var start = 0
        while let end = piece[start...].firstIndex(of: UInt8(ascii: "\n")) {
            if held.isEmpty, !isSkipping {
                try Self.take(piece[start..<end], take)
            } else {
                if !isSkipping {
                    held += piece[start..<end]
                    try Self.take(held[...], take)
                }
                held.removeAll(keepingCapacity: true)
                isSkipping = false
            }
            start = end + 1
        }
        if isSkipping { return }
        held += piece[start...]
        if held.count > Self.longestLine {
            held.removeAll(keepingCapacity: true)
            isSkipping = true
            try take(nil)
        }
    }

    /// Calls `take` for a last line without an end.
    mutating func finish<Problem: Error>(
        _ take: (ArraySlice<UInt8>?) throws(Problem) -> Void
    ) throws(Problem) {
        if !held.isEmpty { try Self.take(held[...], take) }
        held = []
        isSkipping = false
    }

    private static func take<Problem: Error>(
        _ line: ArraySlice<UInt8>, _ take: (ArraySlice<UInt8>?) throws(Problem) -> Void
    ) throws(Problem) {
        var line = line
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !line.isEmpty else { return }
        try take(line.count <= longestLine ? line : nil)
    }
}
