/// The comparison of `SignedQuery.isSameObject` as case-insensitive regular expressions of
/// PostgreSQL.
///
/// Only the escapes of `-` and `_` in names are decoded: with others, two URLs count as two
/// objects.
package enum SignedPatterns {
    private static let start = "[&;](?:amp;)?"
    private static let end = "(?=[&;]|$)"
    private static let value = "(?:=[^&;]*)?"

    /// Returns a pattern for parameters of these names, however they are escaped, with their
    /// separators.
    package static func parameters(named names: [String]) -> String {
        "\(start)\(any(names.map(escaped)))\(value)\(end)"
    }

    /// Returns a pattern for the separator before a parameter of one of these names, as the first
    /// group.
    package static func separator(before names: [String]) -> String {
        "(\(start))(?=\(any(names.map(escaped)))(?:[=&;]|$))"
    }

    /// Returns a pattern for each byte as itself or as its percent escape.
    private static func escaped(_ name: String) -> String {
        name.utf8.map { byte in
            let plain = Character(UnicodeScalar(byte))
            let cases = Set([plain.lowercased(), plain.uppercased()]).sorted()
            let escapes = cases.flatMap(\.utf8).map { "%\(String($0, radix: 16))" }
            let isPlain = plain.isLetter || plain.isNumber
            return any([isPlain ? String(plain) : "\\\(plain)"] + escapes)
        }.joined()
    }

    private static func any(_ names: [String]) -> String { "(?:\(names.joined(separator: "|")))" }

    private static var shortTime: String {
        "\(any(SignedNames.shortTimes))=(?:[0-9]{9,}|[0-9a-f]{8})"
    }

    private static let fields = "[^&;]*~hmac=[^&;]*"

    /// A parameter that is a signature, after its separator.
    package static var proof: String {
        "\(start)(?:\(any(SignedNames.proofs + SignedNames.prefixProofs))\(value)|\(fields))\(end)"
    }

    /// The two parameters that identify a shared access signature of Azure.
    package static var azure: [String] { ["sig", "sv"].map { "\(start)\($0)\(value)\(end)" } }

    /// Returns a pattern for all parameters of a signature, for a query that contains one of these.
    package static func signature(azure: Bool) -> String {
        let names =
            SignedNames.proofs + SignedNames.companions + SignedNames.times
            + (azure ? SignedNames.azure : [])
        let prefixed =
            "(?!\(any(SignedNames.choosing))(?:[=&;]|$))\(any(SignedNames.prefixes))[^=&;]+"
        return "\(start)(?:\(any(names))\(value)|\(shortTime)|\(prefixed)\(value)|\(fields))\(end)"
    }

    /// All parameters that are omitted from keys, in any combination. For two URLs of one key, the
    /// rest may differ otherwise.
    package static var secret: String {
        let names =
            SignedNames.proofs + SignedNames.companions + SignedNames.times + SignedNames.tokens
            + SignedNames.content + SignedNames.azure
        let prefixed =
            "(?!\(any(SignedNames.choosing))(?:[=&;]|$))\(any(SignedNames.prefixes))[^=&;]+"
        return "\(start)(?:\(any(names))\(value)|\(shortTime)|\(prefixed)\(value)|\(fields))\(end)"
    }

    /// Returns a pattern for a part of a path that is a signature, and optionally a token, after
    /// its separator.
    package static func path(withTokens: Bool) -> String {
        let names = SignedNames.proofs + (withTokens ? SignedNames.tokens : [])
        return "([/;])(?:[^/;]*~hmac=[^/;]*|\(any(names))=[^/;]*)(?=[/;]|$)"
    }
}
