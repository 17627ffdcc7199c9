import Model
import Text

/// Splits chunks into lines and buffers an incomplete line.
struct LineSplitter {
    struct Line {
        let bytes: [UInt8]
        /// The line in `bytes`, without its line feed.
        let range: Range<Int>
        /// From 1.
        let number: Int
    }

    /// Maximum length of a line in bytes.
    let maxBytes: Int
    /// Number of the last line; 0 before the first.
    private(set) var number = 0
    private var held: [UInt8] = []

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// Returns the next complete line of `bytes` from `start`, and moves `start` after it; nil,
    /// after buffering the rest, if there is none.
    mutating func next(_ bytes: [UInt8], _ start: inout Int) throws(Failure) -> Line? {
        guard let end = bytes[start...].firstIndex(of: ASCII.lineFeed) else {
            held += bytes[start...]
            start = bytes.count
            if held.count > maxBytes { throw tooLong(number + 1) }
            return nil
        }
        defer { start = end + 1 }
        guard !held.isEmpty else { return try line(bytes, start..<end) }
        let whole = held + bytes[start..<end]
        held = []
        return try line(whole, 0..<whole.count)
    }

    /// Returns the last line without a line feed; nil if there is none.
    mutating func last() throws(Failure) -> Line? {
        guard !held.isEmpty else { return nil }
        defer { held = [] }
        return try line(held, 0..<held.count)
    }

    private mutating func line(_ bytes: [UInt8], _ range: Range<Int>) throws(Failure) -> Line {
        number += 1
        if number > ListReader.lines {
            throw Failure(
                .inputTooLarge, at: .line(number),
                "a list holds at most \(ListReader.lines) lines")
        }
        if range.count > maxBytes { throw tooLong(number) }
        return Line(bytes: bytes, range: range, number: number)
    }

    private func tooLong(_ line: Int) -> Failure {
        Failure(
            .inputTooLarge, at: .line(line, column: maxBytes + 1),
            "a line holds at most \(maxBytes) bytes")
    }
}
