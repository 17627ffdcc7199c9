/// A parameter of a statement. The server infers the type of each from its position.
package enum PostgresValue: Sendable, Equatable {
    case null
    case int(Int64)
    case double(Double)
    case bool(Bool)
    /// Text without NUL bytes, which PostgreSQL cannot store; also any type in its text form.
    case text(String)
    case bytes([UInt8])
    case int64Array([Int64])
    case textArray([String?])
    /// A bigint[] and a text[] in their binary forms, which the server reads in half the time: for
    /// columns of many rows. The statement's parameter must have exactly this type.
    case binaryInt64Array([Int64])
    case binaryTextArray([String?])

    /// Returns a UUID in its text form.
    package static func uuid(_ text: String) -> PostgresValue { .text(text) }
    package static func int(_ value: Int) -> PostgresValue { .int(Int64(value)) }
    package static func optionalText(_ value: String?) -> PostgresValue {
        value.map(PostgresValue.text) ?? .null
    }
    package static func optionalInt(_ value: Int64?) -> PostgresValue {
        value.map(PostgresValue.int) ?? .null
    }
    package static func optionalDouble(_ value: Double?) -> PostgresValue {
        value.map(PostgresValue.double) ?? .null
    }

    /// Appends the text form; of a binary array its binary form. Bytes get the hexadecimal form of
    /// bytea.
    func appendText(to buffer: inout [UInt8]) {
        switch self {
        case .null: break
        case .int(let value): appendDecimal(value, to: &buffer)
        case .double(let value): buffer.append(contentsOf: value.description.utf8)
        case .bool(let value): buffer.append(UInt8(ascii: value ? "t" : "f"))
        case .text(let value): buffer.append(contentsOf: value.utf8)
        case .bytes(let value): appendHexadecimal(value, to: &buffer)
        case .int64Array(let values): PostgresArray.append(values, to: &buffer)
        case .textArray(let values): PostgresArray.append(values, to: &buffer)
        case .binaryInt64Array(let values): PostgresArray.appendBinary(values, to: &buffer)
        case .binaryTextArray(let values): PostgresArray.appendBinary(values, to: &buffer)
        }
    }
}

extension PostgresValue: ExpressibleByNilLiteral, ExpressibleByStringLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
    package init(nilLiteral: ()) { self = .null }
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int64) { self = .int(value) }
    package init(floatLiteral value: Double) { self = .double(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
}

/// A statement and its parameters ($1, $2, …).
package struct PostgresStatement: Sendable, Equatable {
    package let sql: String
    package let parameters: [PostgresValue]
    /// True if it is prepared at its first use, and soon planned once for all values. Otherwise it
    /// is planned at each execution, for its values and the current sizes of tables.
    package let isPrepared: Bool

    package init(_ sql: String, _ parameters: [PostgresValue] = [], isPrepared: Bool = true) {
        self.sql = sql
        self.parameters = parameters
        self.isPrepared = isPrepared
    }
}

func appendDecimal(_ value: Int64, to buffer: inout [UInt8]) {
    if value < 0 { buffer.append(UInt8(ascii: "-")) }
    let start = buffer.count
    var rest = value.magnitude
    repeat {
        buffer.append(UInt8(ascii: "0") + UInt8(rest % 10))
        rest /= 10
    } while rest > 0
    buffer[start...].reverse()
}

func appendHexadecimal(_ bytes: [UInt8], to buffer: inout [UInt8]) {
    let digits = Array("0123456789abcdef".utf8)
    buffer.reserveCapacity(buffer.count + 2 + 2 * bytes.count)
    buffer.append(contentsOf: "\\x".utf8)
    for byte in bytes {
        buffer.append(digits[Int(byte >> 4)])
        buffer.append(digits[Int(byte & 15)])
    }
}

/// The parameters of one statement for libpq: pointers into one buffer.
struct EncodedParameters {
    private var buffer: [UInt8] = []
    /// Offset of each value; -1 for null.
    private var offsets: [Int] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    init(_ values: [PostgresValue]) throws(PostgresError) {
        for value in values {
            let start = buffer.count
            offsets.append(value == .null ? -1 : start)
            var format: Int32 = 0
            if case .bytes(let bytes) = value {
                buffer.append(contentsOf: bytes)
                format = 1
            } else {
                value.appendText(to: &buffer)
            }
            switch value {
            case .text, .textArray: if buffer[start...].contains(0) { throw Self.nul }
            case .binaryInt64Array: format = 1
            case .binaryTextArray(let texts):
                for case let text? in texts where text.utf8.contains(0) { throw Self.nul }
                format = 1
            default: break
            }
            lengths.append(Int32(clamping: buffer.count - start))
            formats.append(format)
            buffer.append(0)
        }
    }

    private static var nul: PostgresError {
        PostgresError(.usage, "text with a NUL byte cannot be stored", sqlState: "22021")
    }

    typealias Body = (
        _ count: Int32, _ values: UnsafePointer<UnsafePointer<CChar>?>?,
        _ lengths: UnsafePointer<Int32>?, _ formats: UnsafePointer<Int32>?
    ) -> Int32

    func withPointers(_ body: Body) -> Int32 {
        buffer.withUnsafeBufferPointer { bytes in
            let base = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
            let values = offsets.map { $0 < 0 ? nil : base?.advanced(by: $0) }
            return body(Int32(offsets.count), values, lengths, formats)
        }
    }
}
