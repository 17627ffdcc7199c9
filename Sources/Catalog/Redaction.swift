/// Makes what a person gave fit to be shown in a message.
package enum Redaction {
    /// `text` without the secrets a URL carries, without control characters, and not too long.
    ///
    /// The value of a query becomes `?…`, user information `…@`; control characters are written as
    /// `\u{…}`; more than 200 characters are cut.
    package static func shown(_ text: String) -> String {
        var rest = text[...]
        var out = ""
        if let start = rest.range(ofFirst: "://") {
            let authorityEnd =
                rest[start...].firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
            if let at = rest[start..<authorityEnd].lastIndex(of: "@") {
                out += escaped(rest[..<start]) + "…"
                rest = rest[at...]
            }
        }
        if let question = rest.firstIndex(of: "?") {
            out += escaped(rest[..<question]) + "?…"
        } else {
            out += escaped(rest)
        }
        return out.count > 200 ? out.prefix(199) + "…" : out
    }

    /// `shown`, of bytes that need not be UTF-8.
    static func shown(_ bytes: [UInt8], _ range: Range<Int>) -> String {
        let end = min(range.upperBound, range.lowerBound + 1_024)
        return shown(String(decoding: bytes[range.lowerBound..<end], as: UTF8.self))
    }

    private static func escaped(_ text: Substring) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                out += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            default:
                out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}

extension Substring {
    /// The index after the first occurrence of `separator`, or nil.
    fileprivate func range(ofFirst separator: String) -> Index? {
        var index = startIndex
        while index < endIndex {
            if self[index...].hasPrefix(separator) {
                return self.index(index, offsetBy: separator.count)
            }
            index = self.index(after: index)
        }
        return nil
    }
}
