/// Rows in COPY's text format (PostgreSQL manual, COPY, "Text Format").
package struct CopyEncoder: Sendable {
    private(set) var bytes: [UInt8] = []
    private var isAtRowStart = true

    package init() {}

    /// Number of encoded bytes; a producer should stop at about `batchByteCount`.
    package var byteCount: Int { bytes.count }

    /// Batch size that is efficient and needs little memory.
    package static let batchByteCount = 64 * 1024

    package mutating func null() {
        separate()
        bytes.append(contentsOf: "\\N".utf8)
    }

    package mutating func field(_ value: Int64) {
        separate()
        appendDecimal(value, to: &bytes)
    }

    package mutating func field(_ value: Int) { field(Int64(value)) }

    package mutating func field(_ text: String) {
        separate()
        let isPlain: Void? = text.utf8.withContiguousStorageIfAvailable { utf8 in
            // Most text needs no escapes and is copied at once, not byte by byte.
            if utf8.contains(where: Self.needsEscape) {
                for byte in utf8 { appendEscaped(byte) }
            } else {
                bytes.append(contentsOf: utf8)
            }
        }
        if isPlain == nil { for byte in text.utf8 { appendEscaped(byte) } }
    }

    package mutating func field(_ value: Int64?) {
        if let value { field(value) } else { null() }
    }

    package mutating func field(_ value: Double?) { field(value.map { "\($0)" }) }

    package mutating func field(_ text: String?) {
        if let text { field(text) } else { null() }
    }

    package mutating func endRow() {
        bytes.append(UInt8(ascii: "\n"))
        isAtRowStart = true
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    private mutating func separate() {
        if !isAtRowStart { bytes.append(UInt8(ascii: "\t")) }
        isAtRowStart = false
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\\")
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
        case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
        case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
        case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
        default: bytes.append(byte)
        }
    }
}
