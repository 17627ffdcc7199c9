import Model
import Text

/// The URL list of Google's Storage Transfer Service: `TsvHttpData-1.0`, then one line per object
/// with its URL, its length and its MD5 in base64, separated by TABs.
///
/// Real lists omit the last fields, or have a length of 0 for an unknown one.
final class TransferServiceList: ListDecoder {
    private var lines = LineSplitter(maxBytes: ListReader.lineBytes)
    private var hasHeader = false
    private static let header: StaticString = "TsvHttpData-1.0"

    var format: ListFormat? { .gsts }
    var line: Int { lines.number }

    func feed(_ bytes: [UInt8], _ output: ListOutput) throws(Failure) {
        var start = 0
        while let line = try lines.next(bytes, &start) { try take(line, output) }
    }

    func finish(_ output: ListOutput) throws(Failure) {
        if let line = try lines.last() { try take(line, output) }
    }

    private func take(_ line: LineSplitter.Line, _ output: ListOutput) throws(Failure) {
        let range = ASCII.trimmed(line.bytes, line.range)
        if range.isEmpty { return }
        guard hasHeader else {
            guard ASCII.equal(line.bytes, range, Self.header) else {
                throw Failure(
                    .inputMalformed, at: .line(line.number, column: 1),
                    "given "
                        + "\"\(Redaction.shown(line.bytes, range))\", allowed \(Self.header)")
            }
            hasHeader = true
            return
        }
        do throws(Failure) {
            try output.add(try asset(line, range), line: line.number)
        } catch {
            try output.reject(error)
        }
    }

    private func asset(
        _ line: LineSplitter.Line, _ range: Range<Int>
    ) throws(Failure) -> AssetSubmission {
        var fields: [Range<Int>] = []
        var start = range.lowerBound
        // One field beyond the maximum is enough to reject the line.
        while start <= range.upperBound, fields.count < 4 {
            let end = line.bytes[start..<range.upperBound].firstIndex(of: ASCII.tab)
            fields.append(ASCII.trimmed(line.bytes, start..<(end ?? range.upperBound)))
            start = (end ?? range.upperBound) + 1
        }
        guard fields.count <= 3 else {
            throw Failure(
                .inputMalformed, at: .line(line.number),
                "more than 3 fields, allowed URL, length and MD5")
        }
        var item = ListItem(
            url: try ListField.url(line.bytes, fields[0], line.number, "URL"))
        if fields.count > 1, !fields[1].isEmpty {
            let text = String(decoding: line.bytes[fields[1]], as: UTF8.self)
            let bytes = try ListField.bytes(text, line.number, "length")
            item.bytes = bytes > 0 ? bytes : nil
        }
        if fields.count > 2, !fields[2].isEmpty {
            guard let digest = Base64.decoded(line.bytes[fields[2]]), digest.count == 16 else {
                throw ListField.failure(
                    line.number, "MD5", given: Redaction.shown(line.bytes, fields[2]),
                    allowed: "16 bytes in base64, 24 characters")
            }
            item.digests.others["md5"] = Base64.hex(digest)
        }
        do throws(Failure) {
            return try item.asset()
        } catch {
            throw error.at(.line(line.number, field: "URL"))
        }
    }
}

/// Base64 (RFC 4648, section 4), padded.
enum Base64 {
    /// Decodes base64; nil for other text.
    static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4), !text.isEmpty else { return nil }
        var out: [UInt8] = []
        let padding = text.suffix(2).count { $0 == ASCII.equals }
        var value: UInt32 = 0
        for (index, byte) in text.enumerated() {
            var digit: UInt32 = 0
            if index < text.count - padding {
                guard let found = sextet(byte) else { return nil }
                digit = found
            } else if byte != ASCII.equals {
                return nil
            }
            value = value << 6 | digit
            guard index % 4 == 3 else { continue }
            out += [UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
            value = 0
        }
        out.removeLast(padding)
        return out
    }

    private static func sextet(_ byte: UInt8) -> UInt32? {
        switch byte {
        case 0x41...0x5A: UInt32(byte - 0x41)
        case 0x61...0x7A: UInt32(byte - 0x61) + 26
        case 0x30...0x39: UInt32(byte - 0x30) + 52
        case 0x2B: 62
        case ASCII.slash: 63
        default: nil
        }
    }

    /// Returns lowercase hex digits.
    static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self)
    }
}
