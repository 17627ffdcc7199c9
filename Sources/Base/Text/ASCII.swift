internal import Glibc

/// Byte values and byte classes of the formats that Dray reads.
package enum ASCII {
    @inlinable package static var tab: UInt8 { 0x09 }
    @inlinable package static var lineFeed: UInt8 { 0x0A }
    @inlinable package static var carriageReturn: UInt8 { 0x0D }
    @inlinable package static var space: UInt8 { 0x20 }
    @inlinable package static var quote: UInt8 { 0x22 }
    @inlinable package static var hash: UInt8 { 0x23 }
    @inlinable package static var percent: UInt8 { 0x25 }
    @inlinable package static var comma: UInt8 { 0x2C }
    @inlinable package static var minus: UInt8 { 0x2D }
    @inlinable package static var dot: UInt8 { 0x2E }
    @inlinable package static var slash: UInt8 { 0x2F }
    @inlinable package static var colon: UInt8 { 0x3A }
    @inlinable package static var less: UInt8 { 0x3C }
    @inlinable package static var equals: UInt8 { 0x3D }
    @inlinable package static var question: UInt8 { 0x3F }
    @inlinable package static var at: UInt8 { 0x40 }
    @inlinable package static var openBracket: UInt8 { 0x5B }
    @inlinable package static var backslash: UInt8 { 0x5C }
    @inlinable package static var closeBracket: UInt8 { 0x5D }
    @inlinable package static var openBrace: UInt8 { 0x7B }
    @inlinable package static var closeBrace: UInt8 { 0x7D }
    @inlinable package static var dollar: UInt8 { 0x24 }
    @inlinable package static var delete: UInt8 { 0x7F }

    /// UTF-8's byte order mark.
    package static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// A class of bytes in URLs: a bit for each byte of ASCII, so that no table is needed.
    package struct ByteClass {
        @usableFromInline let low: UInt64
        @usableFromInline let high: UInt64

        @inlinable init(low: UInt64, high: UInt64) {
            self.low = low
            self.high = high
        }

        /// Bytes that need no encoding in a path: `pchar` of RFC 3986 without `%`, and `/`.
        @inlinable package static var path: ByteClass {
            ByteClass(low: 0x2FFF_FFD2_0000_0000, high: 0x47FF_FFFE_87FF_FFFF)
        }
        /// Bytes that need no encoding in a query: `pchar`, `/`, `?`, and `%`, which servers accept
        /// there.
        @inlinable package static var query: ByteClass {
            ByteClass(low: 0xAFFF_FFF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFF)
        }
        /// Bytes that need no encoding in the file name of a URL with a query: those that all
        /// players send unencoded, except `/`.
        @inlinable package static var queryName: ByteClass {
            ByteClass(low: 0xAFFF_7F72_0000_0000, high: 0x47FF_FFFE_87FF_FFFF)
        }
    }

    @inlinable package static func isIn(_ byteClass: ByteClass, _ byte: UInt8) -> Bool {
        byte < 0x80 && (byte < 64 ? byteClass.low : byteClass.high) &>> UInt64(byte & 63) & 1 != 0
    }

    @inlinable package static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    @inlinable package static func isLetter(_ byte: UInt8) -> Bool {
        let lower = byte | 0x20
        return lower >= 0x61 && lower <= 0x7A
    }

    @inlinable package static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isDigit(byte) || isLetter(byte)
    }

    /// Returns true for control characters of ASCII; U+0080 to U+009F have two bytes and are
    /// checked where necessary.
    @inlinable package static func isControl(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == delete
    }

    @inlinable package static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    @inlinable package static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
    }

    /// Returns the value of a hex digit, or nil.
    @inlinable package static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    /// Appends `%XX`.
    package static func appendEscape(of byte: UInt8, to out: inout [UInt8]) {
        let digits: StaticString = "0123456789ABCDEF"
        out.append(percent)
        out.append(digits.utf8Start[Int(byte >> 4)])
        out.append(digits.utf8Start[Int(byte & 15)])
    }

    /// Returns the first index of a byte from `start` on; the end of the array if there is none.
    package static func index(of byte: UInt8, in bytes: [UInt8], from start: Int) -> Int {
        bytes.withUnsafeBytes { all in
            let rest = UnsafeRawBufferPointer(rebasing: all[start...])
            guard let first = rest.baseAddress,
                let found = memchr(first, Int32(byte), rest.count)
            else { return bytes.count }
            return start + (UnsafeRawPointer(found) - first)
        }
    }

    /// Appends the leading bytes of `range` for which `isPlain` holds; returns their end.
    @inlinable package static func appendRun(
        of bytes: [UInt8], _ range: Range<Int>, to out: inout [UInt8],
        while isPlain: (UInt8) -> Bool
    ) -> Int {
        bytes.withUnsafeBufferPointer { bytes in
            let rest = UnsafeBufferPointer(rebasing: bytes[range])
            let run = rest[..<(rest.firstIndex { !isPlain($0) } ?? rest.count)]
            out.append(contentsOf: run)
            return range.lowerBound + run.count
        }
    }

    /// Returns true if the bytes of `range` are `text`.
    @inlinable package static func equal(
        _ bytes: [UInt8], _ range: Range<Int>, _ text: StaticString
    ) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        return hasPrefix(bytes, range, text)
    }

    /// Returns true if the bytes of `range` start with `text`.
    @inlinable package static func hasPrefix(
        _ bytes: [UInt8], _ range: Range<Int>, _ text: StaticString
    )
        -> Bool
    {
        guard range.count >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount
        where bytes[range.lowerBound + index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    /// Returns true if the bytes of `range` start with `text`, case-insensitively; `text` is in
    /// lower case.
    @inlinable package static func hasPrefixIgnoringCase(
        _ bytes: [UInt8], _ range: Range<Int>, _ text: StaticString
    ) -> Bool {
        guard range.count >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount
        where lowercased(bytes[range.lowerBound + index]) != text.utf8Start[index] {
            return false
        }
        return true
    }

    /// Returns true if the bytes of `range` are `text`, case-insensitively; `text` is in lower
    /// case.
    @inlinable package static func isEqualIgnoringCase(
        _ bytes: [UInt8], _ range: Range<Int>, _ text: StaticString
    ) -> Bool {
        range.count == text.utf8CodeUnitCount && hasPrefixIgnoringCase(bytes, range, text)
    }

    /// Returns `range` without spaces, tabs and a carriage return at its ends.
    @inlinable package static func trimmed(_ bytes: [UInt8], _ range: Range<Int>) -> Range<Int> {
        var lower = range.lowerBound
        var upper = range.upperBound
        while upper > lower, isBlank(bytes[upper - 1]) || bytes[upper - 1] == carriageReturn {
            upper -= 1
        }
        while lower < upper, isBlank(bytes[lower]) { lower += 1 }
        return lower..<upper
    }
}
