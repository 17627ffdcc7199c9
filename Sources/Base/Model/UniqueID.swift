/// A random identity, a UUID, that cannot be confused with that of another kind of entity.
///
/// It is created without asking anyone. Its only text has lower-case digits (RFC 9562, section 4),
/// on the wire, in SQL and in file names; the order is that of the texts.
package struct UniqueID<Entity>: Hashable, Comparable, Sendable {
    private let high: UInt64
    private let low: UInt64

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// All digits zero: a value that is not set yet.
    package static var zero: Self { Self(high: 0, low: 0) }

    /// Creates a random identity (RFC 9562, version 4).
    package static func random() -> Self {
        var generator = SystemRandomNumberGenerator()
        return Self(
            high: generator.next() & ~0xF000 | 0x4000,
            low: generator.next() & ~(0b11 << 62) | 0b10 << 62)
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }

    // Faster than through witness tables; leases are compared for each result.
    package static func == (left: Self, right: Self) -> Bool {
        left.high == right.high && left.low == right.low
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(high)
        hasher.combine(low)
    }
}

/// Lengths and positions of a UUID's text.
private enum UUIDText {
    static let length = 36
    static let hyphen = UInt8(ascii: "-")

    static func hasHyphens(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        text[8] == hyphen && text[13] == hyphen && text[18] == hyphen && text[23] == hyphen
    }

    /// Returns the value of hexadecimal digits in lower case; nil for other text.
    static func value(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
        var value: UInt64 = 0
        for byte in UnsafeBufferPointer(rebasing: digits) {
            let decimal = byte &- UInt8(ascii: "0")
            let letter = byte &- UInt8(ascii: "a")
            guard decimal < 10 || letter < 6 else { return nil }
            value = value << 4 | UInt64(decimal < 10 ? decimal : letter + 10)
        }
        return value
    }

    /// Writes the last hexadecimal digits of a value: as many as there is room for.
    static func write(
        _ value: UInt64, to text: Slice<UnsafeMutableBufferPointer<UInt8>>
    ) {
        let digits = UnsafeMutableBufferPointer(rebasing: text)
        var rest = value
        for index in digits.indices.reversed() {
            let digit = UInt8(truncatingIfNeeded: rest & 15)
            digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
            rest >>= 4
        }
    }
}

extension UniqueID: LosslessStringConvertible {
    /// Values that `init` accepts, for messages.
    package static var allowed: String { "a UUID in lower case" }

    /// Returns nil unless `text` is a UUID in lower case.
    package init?(_ text: String) {
        var text = text
        guard let id = text.withUTF8({ Self(utf8: $0) }) else { return nil }
        self = id
    }

    /// Returns nil unless `text` is a UUID in lower case.
    package init?(utf8 text: UnsafeBufferPointer<UInt8>) {
        guard text.count == UUIDText.length,
            UUIDText.hasHyphens(text),
            let first = UUIDText.value(text[0..<8]), let second = UUIDText.value(text[9..<13]),
            let third = UUIDText.value(text[14..<18]), let fourth = UUIDText.value(text[19..<23]),
            let fifth = UUIDText.value(text[24..<36])
        else { return nil }
        self.init(high: first << 32 | second << 16 | third, low: fourth << 48 | fifth)
    }

    package var description: String {
        String(unsafeUninitializedCapacity: UUIDText.length) { text in
            write(to: text)
            return UUIDText.length
        }
    }

    /// Appends the text's 36 bytes.
    package func append(to bytes: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: UUIDText.length) { text in
            write(to: text)
            bytes.append(contentsOf: text)
        }
    }

    /// Writes the text's 36 bytes.
    private func write(to text: UnsafeMutableBufferPointer<UInt8>) {
        (text[8], text[13]) = (UUIDText.hyphen, UUIDText.hyphen)
        (text[18], text[23]) = (UUIDText.hyphen, UUIDText.hyphen)
        UUIDText.write(high >> 32, to: text[0..<8])
        UUIDText.write(high >> 16, to: text[9..<13])
        UUIDText.write(high, to: text[14..<18])
        UUIDText.write(low >> 48, to: text[19..<23])
        UUIDText.write(low, to: text[24..<36])
    }
}

extension UniqueID: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let id = Self(text) else {
            throw InvalidValue(given: text, allowed: Self.allowed).decodingError(at: decoder)
        }
        self = id
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
