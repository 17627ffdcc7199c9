// Hand-written JSON (RFC 8259) for the workers' frequent requests and reports. Foundation takes a
// third of a microsecond per value and 30 per message, which was more than half of the
// coordinator's work. The reader accepts only the writer's form; Foundation reads the rest.

/// Appends JSON to bytes.
struct WireTextWriter {
    private(set) var bytes: [UInt8] = []

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    mutating func reserve(_ count: Int) { bytes.reserveCapacity(bytes.count + count) }

    /// Appends text unchanged.
    mutating func raw(_ text: StaticString) {
        bytes.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func raw(_ json: [UInt8]) { bytes += json }

    mutating func removeLast() { bytes.removeLast() }

    mutating func integer(_ value: Int64) {
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        var rest = value.magnitude
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

    /// Appends a finite number.
    mutating func number(_ value: Double) {
        if let whole = Int64(exactly: value) { return integer(whole) }
        bytes.append(contentsOf: value.description.utf8)
    }

    mutating func string(_ value: String) {
        bytes.append(UInt8(ascii: "\""))
        var value = value
        value.withUTF8 { text in
            if text.allSatisfy({
                $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }) {
                bytes.append(contentsOf: text)
            } else {
                for byte in text { escaped(byte) }
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0..<0x20:
            raw("\\u00")
            let digits: StaticString = "0123456789abcdef"
            bytes.append(digits.utf8Start[Int(byte >> 4)])
            bytes.append(digits.utf8Start[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }

    /// Appends `"name":[…],`, one value per index.
    mutating func column(
        _ name: StaticString, _ indices: [Int], _ value: (inout WireTextWriter, Int) -> Void
    ) {
        raw(name)
        raw("[")
        for index in indices {
            value(&self, index)
            raw(",")
        }
        if !indices.isEmpty { removeLast() }
        raw("],")
    }
}

/// Reads JSON from bytes. Each method skips white space first. It returns nil for other text, and
/// for text that is left to Foundation: a string with an escape, a number with a fraction.
struct WireTextReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private(set) var index: Int

    init(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int = 0) {
        self.bytes = bytes
        self.index = index
    }

    var isAtEnd: Bool {
        mutating get {
            space()
            return index == bytes.count
        }
    }

    private mutating func space() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }

    /// Consumes a structural byte if it is next.
    mutating func take(_ byte: UInt8) -> Bool {
        if index < bytes.count, bytes[index] <= 0x20 { space() }
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    /// Reads the bytes of a string without escapes.
    mutating func text() -> UnsafeBufferPointer<UInt8>? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = index
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                index += 1
                return UnsafeBufferPointer(rebasing: bytes[start..<(index - 1)])
            }
            guard byte >= 0x20, byte != UInt8(ascii: "\\") else { return nil }
            index += 1
        }
        return nil
    }

    mutating func string() -> String? {
        text().flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Reads an integer.
    mutating func integer() -> Int64? {
        let isNegative = take(UInt8(ascii: "-"))
        if !isNegative, index < bytes.count, bytes[index] <= 0x20 { space() }
        let start = index
        var value: Int64 = 0
        while index < bytes.count, bytes[index] &- UInt8(ascii: "0") < 10 {
            // Summed below zero, so that Int64.min fits.
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isBelow) = product.subtractingReportingOverflow(
                Int64(bytes[index] &- UInt8(ascii: "0")))
            guard !isTooLarge, !isBelow else { return nil }
            value = sum
            index += 1
        }
        let count = index - start
        guard count > 0, count == 1 || bytes[start] != UInt8(ascii: "0"),
            isNegative || value != .min
        else { return nil }
        if index < bytes.count, [0x2E, 0x65, 0x45].contains(bytes[index]) { return nil }
        return isNegative ? value : -value
    }

    /// Reads any number.
    mutating func number() -> Double? {
        if index < bytes.count, bytes[index] <= 0x20 { space() }
        let start = index
        if index < bytes.count, bytes[index] == UInt8(ascii: "-") { index += 1 }
        let whole = digits()
        guard whole == 1 || (whole > 1 && bytes[index - whole] != UInt8(ascii: "0")) else {
            return nil
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            guard digits() > 0 else { return nil }
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < bytes.count, [0x2B, 0x2D].contains(bytes[index]) { index += 1 }
            guard digits() > 0 else { return nil }
        }
        let value = Double(String(decoding: bytes[start..<index], as: UTF8.self))
        return value?.isFinite == true ? value : nil
    }

    /// Skips digits and returns their number.
    private mutating func digits() -> Int {
        let start = index
        while index < bytes.count, bytes[index] &- UInt8(ascii: "0") < 10 { index += 1 }
        return index - start
    }

    mutating func bool() -> Bool? {
        if word("true") { return true }
        return word("false") ? false : nil
    }

    private mutating func word(_ word: StaticString) -> Bool {
        if index < bytes.count, bytes[index] <= 0x20 { space() }
        let count = word.utf8CodeUnitCount
        guard bytes.count - index >= count else { return false }
        for offset in 0..<count where bytes[index + offset] != word.utf8Start[offset] {
            return false
        }
        index += count
        return true
    }

    /// Reads `[…]`, its elements with `element`.
    mutating func array<Element>(
        _ element: (inout WireTextReader) -> Element?
    ) -> [Element]? {
        guard take(UInt8(ascii: "[")) else { return nil }
        var elements: [Element] = []
        if take(UInt8(ascii: "]")) { return elements }
        repeat {
            guard let next = element(&self) else { return nil }
            elements.append(next)
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]")) ? elements : nil
    }

    /// Reads `{…}`; `member` gets each name and reads the value. Returns false for invalid input.
    mutating func object(
        _ member: (inout WireTextReader, UnsafeBufferPointer<UInt8>) -> Bool
    ) -> Bool {
        guard take(UInt8(ascii: "{")) else { return false }
        if take(UInt8(ascii: "}")) { return true }
        repeat {
            guard let name = text(), take(UInt8(ascii: ":")), member(&self, name) else {
                return false
            }
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}"))
    }

    /// Reads `{…}` of strings; returns nil for a repeated name.
    mutating func strings() -> [String: String]? {
        var strings: [String: String] = [:]
        let isRead = object { reader, name in
            let name = String(validating: name, as: UTF8.self)
            guard let name, strings[name] == nil, let value = reader.string() else { return false }
            strings[name] = value
            return true
        }
        return isRead ? strings : nil
    }

    /// Reads a member that may occur once; returns false if it is repeated or invalid.
    mutating func once<Value>(
        _ member: inout Value?, _ read: (inout WireTextReader) -> Value?
    ) -> Bool {
        guard member == nil, let value = read(&self) else { return false }
        member = value
        return true
    }

    /// Skips any value without checking its content.
    mutating func skip() -> Bool {
        space()
        var depth = 0
        let start = index
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                guard skipString() else { return false }
                if depth == 0 { return true }
                continue
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if depth == 0 { return index > start }
                depth -= 1
                if depth == 0 {
                    index += 1
                    return true
                }
            case UInt8(ascii: ","): if depth == 0 { return index > start }
            default: break
            }
            index += 1
        }
        return false
    }

    private mutating func skipString() -> Bool {
        index += 1
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index += 1
                return true
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        return false
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns true if the bytes are this name's.
    func isName(_ name: StaticString) -> Bool {
        guard count == name.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index] != name.utf8Start[index] { return false }
        return true
    }
}
