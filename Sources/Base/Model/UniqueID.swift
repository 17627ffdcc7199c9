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

    static func isHyphen(_ place: Int) -> Bool {
        place == 8 || place == 13 || place == 18 || place == 23
    }

    static func digit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
        default: nil
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
        guard text.count == UUIDText.length else { return nil }
        var (high, low, digits): (UInt64, UInt64, Int) = (0, 0, 0)
        for (place, byte) in text.enumerated() {
            if UUIDText.isHyphen(place) {
                guard byte == UUIDText.hyphen else { return nil }
                continue
            }
            guard let digit = UUIDText.digit(byte) else { return nil }
            if digits < 16 { high = high << 4 | digit } else { low = low << 4 | digit }
            digits += 1
        }
        self.init(high: high, low: low)
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
        var shift = 60
        var half = high
        for place in 0..<UUIDText.length {
            if UUIDText.isHyphen(place) {
                text[place] = UUIDText.hyphen
                continue
            }
            let digit = UInt8(truncatingIfNeeded: half >> UInt64(shift) & 15)
            text[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
            shift -= 4
            if shift < 0 { (half, shift) = (low, 60) }
        }
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
