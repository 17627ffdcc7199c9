package import Model

/// A value that is one field of a row.
package protocol FieldValue: Codable {
    /// Allowed texts for messages; nil for the name of the type.
    static var allowedText: String? { get }

    /// True for a list, with a line for each element.
    static var isList: Bool { get }

    /// Returns nil for other text.
    init?(field text: UnsafeBufferPointer<UInt8>)

    /// Appends the text of the field. Throws an `EncodingError` for a value that no field holds.
    func appendField(to bytes: inout [UInt8]) throws
}

extension FieldValue {
    package static var allowedText: String? { nil }
    package static var isList: Bool { false }
}

extension String: FieldValue {
    package init?(field text: UnsafeBufferPointer<UInt8>) {
        // Validation of other text is several times slower.
        if text.reduce(0, |) < 0x80 {
            self.init(decoding: text, as: UTF8.self)
        } else {
            self.init(validating: text, as: UTF8.self)
        }
    }

    package func appendField(to bytes: inout [UInt8]) {
        var text = self
        text.withUTF8 { text in
            if RowEscape.isNeeded(in: text) {
                for byte in text { RowEscape.append(byte, to: &bytes) }
            } else {
                bytes.append(contentsOf: text)
            }
        }
    }
}

/// The escapes of a field: `\t`, `\n`, `\r` and `\\`.
enum RowEscape {
    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        let letter: UInt8
        switch byte {
        case 0x09: letter = UInt8(ascii: "t")
        case 0x0A: letter = UInt8(ascii: "n")
        case 0x0D: letter = UInt8(ascii: "r")
        case UInt8(ascii: "\\"): letter = byte
        default: return bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(letter)
    }

    /// Returns true if a text has a backslash or a control character.
    static func isNeeded(in text: UnsafeBufferPointer<UInt8>) -> Bool {
        let bytes = UnsafeRawBufferPointer(text)
        var index = 0
        // Eight bytes at a time: the high bit of some byte is set if any of them matches.
        var found: UInt64 = 0
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let others = word ^ backslashes
            found |= (word &- spaces) & ~word | (others &- ones) & ~others
            index += 8
        }
        return found & highBits != 0
            || text[index...].contains { $0 < 0x20 || $0 == UInt8(ascii: "\\") }
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let spaces: UInt64 = 0x2020_2020_2020_2020
    private static let backslashes: UInt64 = 0x5C5C_5C5C_5C5C_5C5C
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Returns true if written text holds an escaped newline.
    static func hasNewline(_ text: ArraySlice<UInt8>) -> Bool {
        var isEscaped = false
        for byte in text {
            if isEscaped, byte == UInt8(ascii: "n") { return true }
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        }
        return false
    }

    /// Returns the byte of an escape; nil for an unknown one.
    static func byte(of letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "\\"): letter
        default: nil
        }
    }
}

extension Int64: FieldValue {
    package init?(field text: UnsafeBufferPointer<UInt8>) {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = text.dropFirst(isNegative ? 1 : 0)
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in digits {
            let digit = byte &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            // Summed below zero, so that Int64.min fits.
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isBelow) = product.subtractingReportingOverflow(Int64(digit))
            guard !isTooLarge, !isBelow else { return nil }
            value = sum
        }
        guard isNegative || value != .min else { return nil }
        self = isNegative ? value : -value
    }

    package func appendField(to bytes: inout [UInt8]) {
        if self < 0 { bytes.append(UInt8(ascii: "-")) }
        var rest = magnitude
        if rest < 10 {
            bytes.append(UInt8(ascii: "0") + UInt8(rest))
            return
        }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = 20
            while rest > 0 {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }
}

extension Int: FieldValue {
    package init?(field text: UnsafeBufferPointer<UInt8>) {
        guard let value = Int64(field: text) else { return nil }
        self = Int(value)
    }

    package func appendField(to bytes: inout [UInt8]) { Int64(self).appendField(to: &bytes) }
}

extension Identifier: FieldValue {
    package init?(field text: UnsafeBufferPointer<UInt8>) {
        guard let value = Int64(field: text) else { return nil }
        self.init(value)
    }

    package func appendField(to bytes: inout [UInt8]) { rawValue.appendField(to: &bytes) }
}

extension UniqueID: FieldValue {
    package static var allowedText: String? { allowed }

    package init?(field text: UnsafeBufferPointer<UInt8>) { self.init(utf8: text) }

    package func appendField(to bytes: inout [UInt8]) { append(to: &bytes) }
}

/// A finite number in decimal notation.
extension Double: FieldValue {
    package init?(field text: UnsafeBufferPointer<UInt8>) {
        let isDecimal = text.allSatisfy {
            switch $0 {
            case 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
                UInt8(ascii: "e"):
                true
            default: false
            }
        }
        guard isDecimal, text.count <= 64,
            let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite
        else { return nil }
        self = value
    }

    package func appendField(to bytes: inout [UInt8]) throws {
        guard isFinite else {
            throw EncodingError.invalidValue(
                self, EncodingError.Context(codingPath: [], debugDescription: "not a finite number")
            )
        }
        bytes.append(contentsOf: description.utf8)
    }
}

/// `t` or `f`.
extension Bool: FieldValue {
    package init?(field text: UnsafeBufferPointer<UInt8>) {
        guard text.count == 1 else { return nil }
        switch text[0] {
        case UInt8(ascii: "t"): self = true
        case UInt8(ascii: "f"): self = false
        default: return nil
        }
    }

    package func appendField(to bytes: inout [UInt8]) {
        bytes.append(self ? UInt8(ascii: "t") : UInt8(ascii: "f"))
    }
}

/// A list in one field: each element with a newline after it.
extension Array: FieldValue where Element: FieldValue {
    package static var isList: Bool { true }

    /// Maximum number of elements.
    private static var maximumCount: Int { 1_000 }

    package init?(field text: UnsafeBufferPointer<UInt8>) {
        self.init()
        guard !text.isEmpty else { return }
        var lines = text.split(
            separator: UInt8(ascii: "\n"), maxSplits: Self.maximumCount + 1,
            omittingEmptySubsequences: false)
        // The newline after the last element is optional, as in lists of SQL.
        if lines.last?.isEmpty == true { lines.removeLast() }
        guard lines.count <= Self.maximumCount else { return nil }
        for line in lines {
            guard let element = Element(field: UnsafeBufferPointer(rebasing: line)) else {
                return nil
            }
            append(element)
        }
    }

    package func appendField(to bytes: inout [UInt8]) throws {
        for element in self {
            let start = bytes.count
            try element.appendField(to: &bytes)
            // Otherwise it would be read as two elements.
            guard !RowEscape.hasNewline(bytes[start...]) else {
                throw EncodingError.invalidValue(
                    element,
                    EncodingError.Context(
                        codingPath: [], debugDescription: "an element of a list has a newline"))
            }
            RowEscape.append(UInt8(ascii: "\n"), to: &bytes)
        }
    }
}

/// An enumeration by its raw value.
extension FieldValue where Self: RawRepresentable, RawValue == String {
    package init?(field text: UnsafeBufferPointer<UInt8>) {
        guard let text = String(field: text), let value = Self(rawValue: text) else { return nil }
        self = value
    }

    package func appendField(to bytes: inout [UInt8]) { rawValue.appendField(to: &bytes) }
}

extension AssetKind: FieldValue {}
extension JobKind: FieldValue {}
extension SegmentRole: FieldValue {}
