/// Reads the expiry of the JSON documents that signed URLs carry in base64.
///
/// It looks for the field and its number; it does not check the document, which a stranger wrote.
enum SignedDocument {
    /// Characters of a document at most.
    private static let maxLength = 4_096

    /// Returns `exp` of a JSON Web Token (RFC 7519, 4.1.4), in seconds since 1970; nil for other text.
    static func tokenExpiry(_ value: String) -> Double? {
        let parts = Array(value.utf8).split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        // The beginning of a JSON object in base64.
        guard parts.count == 3, value.utf8.count <= maxLength, value.hasPrefix("eyJ") else {
            return nil
        }
        return number(after: "\"exp\"", in: decoded(parts[1])[...])
    }

    /// Returns `DateLessThan` of a policy of CloudFront, in seconds since 1970; nil for other text. Its
    /// base64 has `-`, `_` and `~` for `+`, `=` and `/`.
    static func policyExpiry(_ value: String) -> Double? {
        guard value.utf8.count <= maxLength else { return nil }
        let document = decoded(
            value.utf8.map { byte in
                switch byte {
                case UInt8(ascii: "-"): UInt8(ascii: "+")
                case UInt8(ascii: "_"): UInt8(ascii: "=")
                case UInt8(ascii: "~"): UInt8(ascii: "/")
                default: byte
                }
            }[...])
        guard let condition = end(of: "\"DateLessThan\"", in: document[...]) else { return nil }
        return number(after: "\"AWS:EpochTime\"", in: document[condition...])
    }

    private static func number(after name: String, in document: ArraySlice<UInt8>) -> Double? {
        guard let index = end(of: name, in: document) else { return nil }
        let digits = document[index...].drop { $0 == 0x20 || $0 == UInt8(ascii: ":") }
            .prefix { (0x30...0x39).contains($0) }
        guard (9...11).contains(digits.count) else { return nil }
        return Double(String(decoding: digits, as: UTF8.self))
    }

    /// Returns the index after the first `text`.
    private static func end(of text: String, in document: ArraySlice<UInt8>) -> Int? {
        let wanted = Array(text.utf8)
        guard document.count >= wanted.count else { return nil }
        return (document.startIndex...document.endIndex - wanted.count).first {
            document[$0..<$0 + wanted.count].elementsEqual(wanted)
        }.map { $0 + wanted.count }
    }

    /// Decodes base64 of either alphabet up to the first other character.
    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var (bits, count): (UInt32, Int) = (0, 0)
        for byte in text {
            let value: UInt8
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = byte - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"), UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "/"), UInt8(ascii: "_"): value = 63
            default: return bytes
            }
            bits = (bits << 6 | UInt32(value)) & 0xFFFFFF
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return bytes
    }
}
