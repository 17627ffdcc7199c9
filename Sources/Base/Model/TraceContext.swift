/// The trace that a request belongs to (W3C Trace Context, Level 1): an identity for all work of one
/// caller, and one for the present step.
///
///     00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
package struct TraceContext: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64
    private let span: UInt64
    /// Bit 0: the caller records the trace.
    private let flags: UInt8

    /// The trace of the present task; nil outside of requests.
    @TaskLocal package static var current: TraceContext?

    /// Creates a new trace.
    package static func random() -> TraceContext {
        var generator = SystemRandomNumberGenerator()
        // Zero is no identity.
        return TraceContext(
            high: generator.next(), low: max(1, generator.next()), span: max(1, generator.next()),
            flags: 1)
    }

    private init(high: UInt64, low: UInt64, span: UInt64, flags: UInt8) {
        self.high = high
        self.low = low
        self.span = span
        self.flags = flags
    }

    /// Parses the value of a `traceparent` header; nil for anything that the specification does not
    /// allow. A version after 00 may have more fields behind a dash, which are ignored.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8.prefix(Self.maximumBytes + 1))
        guard bytes.count >= Self.length, bytes.count <= Self.maximumBytes,
            [2, 35, 52].allSatisfy({ bytes[$0] == Self.dash }),
            let version = Self.value(bytes[0..<2]), version != 0xFF,
            let high = Self.value(bytes[3..<19]), let low = Self.value(bytes[19..<35]),
            high | low != 0, let span = Self.value(bytes[36..<52]), span != 0,
            let flags = Self.value(bytes[53..<55]),
            bytes.count == Self.length || version > 0 && bytes[Self.length] == Self.dash
        else { return nil }
        self.init(high: high, low: low, span: span, flags: UInt8(flags))
    }

    /// The next step of the same trace.
    package var child: TraceContext {
        var generator = SystemRandomNumberGenerator()
        return TraceContext(high: high, low: low, span: max(1, generator.next()), flags: flags)
    }

    /// Returns true for 32 lower-case hexadecimal digits.
    package static func isTraceID(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// 32 lower-case hexadecimal digits.
    package var traceID: String { Self.digits(high, 16) + Self.digits(low, 16) }
    /// 16 lower-case hexadecimal digits.
    package var spanID: String { Self.digits(span, 16) }
    /// The value of a `traceparent` header.
    package var header: String { "00-\(traceID)-\(spanID)-\(Self.digits(UInt64(flags), 2))" }

    /// Length of version 00, and the longest of a later one.
    private static let length = 55
    private static let maximumBytes = 512
    private static let dash = UInt8(ascii: "-")

    /// Returns the value of lower-case hexadecimal digits; nil for other text.
    private static func value(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for byte in digits {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                value = value << 4 | UInt64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                value = value << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return value
    }

    private static func digits(_ value: UInt64, _ count: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: count - text.utf8.count) + text
    }
}
