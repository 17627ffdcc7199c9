/// What `SignedQuery.isSameObject` compares as regular expressions of PostgreSQL, which ignore case.
///
/// Of escapes in names only those of `-` and `_` are decoded before: with others two URLs count as two objects.
package enum SignedPatterns {
    private static let start = "[&;](?:amp;)?"
    private static let end = "(?=[&;]|$)"
    private static let value = "(?:=[^&;]*)?"

    /// Parameters of these names, however they are escaped, with their separators.
    package static func parameters(named names: [String]) -> String {
        "\(start)\(any(names.map(escaped)))\(value)\(end)"
    }

    /// The separator before a parameter of one of these names, as the first group.
    package static func separator(before names: [String]) -> String {
        "(\(start))(?=\(any(names.map(escaped)))(?:[=&;]|$))"
    }

    /// Each byte as itself or as its percent escape.
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

    /// A parameter that is a signature, behind its separator.
    package static var proof: String {
        "\(start)(?:\(any(SignedNames.proofs + SignedNames.prefixProofs))\(value)|\(fields))\(end)"
    }

    /// The two that make a shared access signature of Azure.
    package static var azure: [String] { ["sig", "sv"].map { "\(start)\($0)\(value)\(end)" } }

    /// All that belongs to a signature where one of these stands in a query.
    package static func signature(azure: Bool) -> String {
        let names =
            SignedNames.proofs + SignedNames.companions + SignedNames.times
            + (azure ? SignedNames.azure : [])
        let prefixed =
            "(?!\(any(SignedNames.choosing))(?:[=&;]|$))\(any(SignedNames.prefixes))[^=&;]+"
        return "\(start)(?:\(any(names))\(value)|\(shortTime)|\(prefixed)\(value)|\(fields))\(end)"
    }

    /// All that is left out of keys, in whatever company: of two URLs of one key the rest is what may differ otherwise.
    package static var secret: String {
        let names =
            SignedNames.proofs + SignedNames.companions + SignedNames.times + SignedNames.tokens
            + SignedNames.content + SignedNames.azure
        let prefixed =
            "(?!\(any(SignedNames.choosing))(?:[=&;]|$))\(any(SignedNames.prefixes))[^=&;]+"
        return "\(start)(?:\(any(names))\(value)|\(shortTime)|\(prefixed)\(value)|\(fields))\(end)"
    }

    /// A part of a path that is a signature, or a token as well, behind its separator.
    package static func path(withTokens: Bool) -> String {
        let names = SignedNames.proofs + (withTokens ? SignedNames.tokens : [])
        return "([/;])(?:[^/;]*~hmac=[^/;]*|\(any(names))=[^/;]*)(?=[/;]|$)"
    }
}
