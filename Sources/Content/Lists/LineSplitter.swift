import Model
import Text

/// Cuts what comes in pieces into lines, and holds the one that is not whole yet.
struct LineSplitter {
    struct Line {
        let bytes: [UInt8]
        /// The line in `bytes`, without its line feed.
        let range: Range<Int>
        /// From 1.
        let number: Int
    }

    /// Longest line in bytes.
    let mostBytes: Int
    /// The line that came last; 0 before the first.
    private(set) var number = 0
    private var held: [UInt8] = []

    init(mostBytes: Int) { self.mostBytes = mostBytes }

    /// The next whole line of `bytes` from `start`, which moves behind it; nil when there is none, and
    /// the rest is held then.
    mutating func next(_ bytes: [UInt8], _ start: inout Int) throws(Failure) -> Line? {
        guard let end = bytes[start...].firstIndex(of: ASCII.lineFeed) else {
            held += bytes[start...]
            start = bytes.count
            if held.count > mostBytes { throw tooLong(number + 1) }
            return nil
        }
        defer { start = end + 1 }
        guard !held.isEmpty else { return try line(bytes, start..<end) }
        let whole = held + bytes[start..<end]
        held = []
        return try line(whole, 0..<whole.count)
    }

    /// The line without a line feed at the end of the list; nil when there is none.
    mutating func last() throws(Failure) -> Line? {
        guard !held.isEmpty else { return nil }
        defer { held = [] }
        return try line(held, 0..<held.count)
    }

    private mutating func line(_ bytes: [UInt8], _ range: Range<Int>) throws(Failure) -> Line {
        number += 1
        if number > ListReader.lines {
            throw Failure(
                "input.tooLarge", "line \(number): a list holds at most \(ListReader.lines) lines")
        }
        if range.count > mostBytes { throw tooLong(number) }
        return Line(bytes: bytes, range: range, number: number)
    }

    private func tooLong(_ line: Int) -> Failure {
        Failure(
            "input.tooLarge",
            "line \(line), column \(mostBytes + 1): a line holds at most \(mostBytes) bytes")
    }
}
