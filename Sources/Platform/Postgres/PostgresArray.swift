/// The text form of one-dimensional arrays (PostgreSQL manual, 8.15.6), and the binary form of some.
enum PostgresArray {
    static func append(_ values: [Int64], to buffer: inout [UInt8]) {
        buffer.append(UInt8(ascii: "{"))
        for (index, value) in values.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            appendDecimal(value, to: &buffer)
        }
        buffer.append(UInt8(ascii: "}"))
    }

    static func append(_ values: [String?], to buffer: inout [UInt8]) {
        buffer.append(UInt8(ascii: "{"))
        for (index, value) in values.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            guard let value else {
                buffer.append(contentsOf: "NULL".utf8)
                continue
            }
            buffer.append(UInt8(ascii: "\""))
            var text = value
            text.withUTF8 { append($0, to: &buffer) }
            buffer.append(UInt8(ascii: "\""))
        }
        buffer.append(UInt8(ascii: "}"))
    }

    static func appendBinary(_ values: [Int64], to buffer: inout [UInt8]) {
        appendHead(of: values.count, type: 20, to: &buffer)
        buffer.reserveCapacity(buffer.count + 12 * values.count)
        for value in values {
            append(Int32(8), to: &buffer)
            append(value, to: &buffer)
        }
    }

    static func appendBinary(_ values: [String?], to buffer: inout [UInt8]) {
        appendHead(of: values.count, type: 25, to: &buffer)
        for value in values {
            guard var value else {
                append(Int32(-1), to: &buffer)
                continue
            }
            value.withUTF8 { text in
                append(Int32(clamping: text.count), to: &buffer)
                buffer.append(contentsOf: text)
            }
        }
    }

    /// Appends the head of an array as `array_recv` of PostgreSQL reads it: dimensions, flags, type of
    /// the elements by its fixed number in `pg_type`, then length and first index. Elements follow, each
    /// after its length in bytes, -1 for null.
    private static func appendHead(of count: Int, type: Int32, to buffer: inout [UInt8]) {
        append(Int32(count == 0 ? 0 : 1), to: &buffer)
        append(Int32(0), to: &buffer)
        append(type, to: &buffer)
        guard count > 0 else { return }
        append(Int32(clamping: count), to: &buffer)
        append(Int32(1), to: &buffer)
    }

    private static func append(_ value: some FixedWidthInteger, to buffer: inout [UInt8]) {
        withUnsafeBytes(of: value.bigEndian) { buffer.append(contentsOf: $0) }
    }

    /// Appends the text between the quotes of an element.
    private static func append(_ text: UnsafeBufferPointer<UInt8>, to buffer: inout [UInt8]) {
        let isPlain = text.allSatisfy { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        if isPlain { return buffer.append(contentsOf: text) }
        for byte in text {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                buffer.append(UInt8(ascii: "\\"))
            }
            buffer.append(byte)
        }
    }

    /// Parses the elements of `{…}`; returns nil unless it is a one-dimensional array.
    static func parse(_ text: UnsafeBufferPointer<UInt8>) -> [String?]? {
        guard text.first == UInt8(ascii: "{"), text.last == UInt8(ascii: "}") else { return nil }
        var elements: [String?] = []
        var index = 1
        let end = text.count - 1
        if index == end { return elements }
        while true {
            var element: [UInt8] = []
            let isQuoted = index < end && text[index] == UInt8(ascii: "\"")
            if isQuoted { index += 1 }
            scan: while index < end {
                let byte = text[index]
                switch byte {
                case UInt8(ascii: "\"") where isQuoted:
                    index += 1
                    break scan
                case UInt8(ascii: ",") where !isQuoted: break scan
                case UInt8(ascii: "{") where !isQuoted, UInt8(ascii: "}") where !isQuoted:
                    return nil
                case UInt8(ascii: "\\") where index + 1 < end:
                    element.append(text[index + 1])
                    index += 2
                default:
                    element.append(byte)
                    index += 1
                }
            }
            let string = String(decoding: element, as: UTF8.self)
            elements.append(!isQuoted && string == "NULL" ? nil : string)
            if index == end { return elements }
            guard text[index] == UInt8(ascii: ",") else { return nil }
            index += 1
        }
    }
}
