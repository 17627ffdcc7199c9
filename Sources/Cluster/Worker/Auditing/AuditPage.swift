import Model

/// Reads a page of a site's records in their order. A value.
struct AuditPage {
    struct Record {
        var key: Range<Int>
        var segment: Int64
        /// Negative if it is not recorded as stored.
        var bytes: Int64
        var sha256: Range<Int>
    }

    /// The page's text; ranges of records refer to it.
    let text: [UInt8]
    let isLast: Bool
    /// The current record; nil before the first and after one that was taken.
    private(set) var record: Record?
    private var index = 0

    init(_ text: [UInt8] = [], isLast: Bool = false) {
        self.text = text
        self.isLast = isLast
    }

    /// Ends the current record.
    mutating func removeRecord() { record = nil }

    /// Reads the next record, unless there is a current one; returns false at the page's end.
    ///
    /// Throws `cluster.protocol` for a page that cannot be read.
    mutating func advance() throws(Failure) -> Bool {
        if record != nil { return true }
        guard index < text.count else { return false }
        let space = UInt8(ascii: " ")
        let length = number(endingAt: space)
        let segment = number(endingAt: space)
        let bytes = number(endingAt: space)
        let digest = index
        while index < text.count, text[index] != UInt8(ascii: ":") { index += 1 }
        let sha256 = digest..<index
        index += 1
        guard let length, let segment, let bytes, length > 0, index + Int(length) <= text.count
        else {
            throw Failure(.clusterProtocol, "A page of records of an audit cannot be read.")
        }
        record = Record(
            key: index..<index + Int(length), segment: segment, bytes: bytes, sha256: sha256)
        index += Int(length) + 1
        return true
    }

    /// Reads a number and the byte after it; -1 for a `-`, nil for anything else.
    private mutating func number(endingAt end: UInt8) -> Int64? {
        let start = index
        var isNegative = false
        var value: Int64 = 0
        while index < text.count, text[index] != end {
            let byte = text[index]
            if byte == UInt8(ascii: "-"), index == start {
                isNegative = true
            } else {
                guard byte >= 0x30, byte <= 0x39, value < 1 << 58 else { return nil }
                value = value * 10 + Int64(byte - 0x30)
            }
            index += 1
        }
        guard index < text.count, index > start else { return nil }
        index += 1
        if isNegative, value == 0 { return -1 }
        return isNegative ? -value : value
    }
}
