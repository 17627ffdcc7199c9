import Model
import Text
import WebURL

/// Variables (draft-pantos-hls-rfc8216bis, sections 4.3 and 4.4.2.3).
extension HLSParser {
    /// Maximum number of variables of one playlist.
    private static let maximumVariables = 1_000

    /// Adds the variable of an EXT-X-DEFINE tag.
    mutating func define(_ attributes: HLSAttributes) throws(Failure) {
        let name: String
        let value: String
        if let attribute = attributes["NAME"] {
            name = string(attribute.value)
            guard let given = attributes["VALUE"] else {
                throw failure(.manifestMalformed, "EXT-X-DEFINE has no VALUE")
            }
            value = string(given.value)
        } else if let attribute = attributes["IMPORT"] {
            name = string(attribute.value)
            guard let imports = options.imports else {
                throw failure(
                    .manifestMalformed,
                    "EXT-X-DEFINE imports \(Redaction.shown(name)), but no multivariant playlist "
                        + "named this one")
            }
            guard let imported = imports[name] else {
                throw failure(
                    .manifestMalformed,
                    "the multivariant playlist does not define \(Redaction.shown(name))")
            }
            value = imported
        } else if let attribute = attributes["QUERYPARAM"] {
            name = string(attribute.value)
            guard let given = Self.queryParameter(name, of: bases.url.url) else {
                throw failure(
                    .manifestMalformed,
                    "the playlist's URL has no query parameter \(Redaction.shown(name))")
            }
            value = given
        } else {
            throw failure(.manifestMalformed, "EXT-X-DEFINE has no NAME, IMPORT or QUERYPARAM")
        }
        let isName =
            !name.isEmpty
            && name.utf8.allSatisfy { ASCII.isAlphanumeric($0) || $0 == ASCII.minus || $0 == 0x5F }
        guard isName else {
            throw failure(.manifestMalformed, "EXT-X-DEFINE has a name that is not allowed")
        }
        guard playlist.variables.count < Self.maximumVariables else {
            throw failure(
                .manifestTooMany, "more than \(Self.maximumVariables) variables are defined")
        }
        guard playlist.variables.updateValue(value, forKey: name) == nil else {
            throw failure(.manifestMalformed, "the variable \(name) is defined twice")
        }
    }

    /// Returns `range` with every `{$name}` replaced; values are not substituted again.
    func substitute(_ range: Range<Int>) throws(Failure) -> [UInt8] {
        var out: [UInt8] = []
        var index = range.lowerBound
        // Without a closing brace ahead, the search stops, however many opening braces follow.
        let lastClose = bytes[range].lastIndex(of: ASCII.closeBrace) ?? range.lowerBound
        while index < range.upperBound {
            guard bytes[index] == ASCII.openBrace, index < lastClose,
                bytes[index + 1] == ASCII.dollar,
                let close = bytes[index..<range.upperBound].firstIndex(of: ASCII.closeBrace)
            else {
                out.append(bytes[index])
                index += 1
                continue
            }
            let name = string((index + 2)..<close)
            guard let value = playlist.variables[name] else {
                throw failure(
                    .manifestMalformed,
                    "the variable \(Redaction.shown(name)) is used before it is defined")
            }
            out += value.utf8
            index = close + 1
            if out.count > WireLimits.urlBytes {
                throw failure(
                    .manifestMalformed, "a URI is longer than \(WireLimits.urlBytes) bytes")
            }
        }
        return out
    }

    /// Returns the percent-decoded value of a query parameter; nil if the query lacks it.
    static func queryParameter(_ name: String, of url: WebURL) -> String? {
        guard let query = url.query else { return nil }
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, decoded(parts[0]) == name else { continue }
            return decoded(parts[1])
        }
        return nil
    }

    private static func decoded(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        var out: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == ASCII.percent, index + 2 < bytes.count,
                let high = ASCII.hexValue(bytes[index + 1]),
                let low = ASCII.hexValue(bytes[index + 2])
            {
                out.append(high << 4 | low)
                index += 3
            } else {
                out.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
