/// Query parameters that belong to the keys of one origin's URLs, if their names do not show it
/// (`SignedQuery`).
///
/// Names are decoded and in lower case, sorted, each once. A name is in one of the two lists.
package struct KeyQueryRule: Codable, Hashable, Sendable {
    /// Maximum rules of one list or submission.
    package static let maximumRules = 64
    /// Maximum names of `keep` or `leaveOut`.
    package static let maximumNames = 20
    /// Maximum length of a name in bytes.
    package static let nameBytes = 32
    /// Maximum bytes of all names of all rules.
    package static let maximumBytes = 2_048

    /// Origin as named by `originName(of:)`; nil for all origins without their own rule.
    package var origin: String?
    /// Parameters that select the response, although they look like signatures or tokens.
    package var keep: [String]?
    /// Parameters that never select the response: sessions, cache busters.
    package var leaveOut: [String]?

    package init(origin: String? = nil, keep: [String] = [], leaveOut: [String] = []) {
        self.origin = origin
        self.keep = Self.sorted(keep)
        self.leaveOut = Self.sorted(leaveOut)
    }

    private static func sorted(_ names: [String]) -> [String]? {
        names.isEmpty ? nil : Set(names.map { $0.lowercased() }).sorted()
    }

    package static let allowedName =
        "1 to \(nameBytes) ASCII characters without blanks and &;=#%, as in the decoded "
        + "name of a parameter"

    package static func isName(_ text: String) -> Bool {
        (1...nameBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !excluded.contains($0) }
    }

    private static let excluded = Array("&;=#%".utf8)

    package var bytes: Int {
        ((keep ?? []) + (leaveOut ?? [])).reduce(0) { $0 + $1.utf8.count }
    }
}

/// The rules of all origins, for lookup.
package struct KeyQueryRules: Hashable, Sendable {
    /// The rule for one URL.
    package struct Names: Hashable, Sendable {
        package var keep: Set<String> = []
        package var leaveOut: Set<String> = []

        package init(keep: Set<String> = [], leaveOut: Set<String> = []) {
            self.keep = keep
            self.leaveOut = leaveOut
        }

        package var isEmpty: Bool { keep.isEmpty && leaveOut.isEmpty }
    }

    private var standard = Names()
    private var byOrigin: [String: Names] = [:]

    /// Creates a table; without rules, a parameter's name decides.
    package init(_ rules: [KeyQueryRule]? = nil) {
        for rule in rules ?? [] {
            let names = Names(keep: Set(rule.keep ?? []), leaveOut: Set(rule.leaveOut ?? []))
            if let origin = rule.origin { byOrigin[origin] = names } else { standard = names }
        }
    }

    package var isEmpty: Bool { standard.isEmpty && byOrigin.isEmpty }

    /// Returns the names for a normalised URL, or for the start of one up to its path.
    package func names(of url: some Collection<UInt8>) -> Names {
        guard !byOrigin.isEmpty else { return standard }
        var slashes = 0
        let origin = url.prefix { byte in
            if byte == UInt8(ascii: "/") { slashes += 1 }
            return slashes < 3 && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
        }
        return names(ofOrigin: String(decoding: origin, as: UTF8.self))
    }

    package func names(ofOrigin origin: String?) -> Names {
        origin.flatMap { byOrigin[$0] } ?? standard
    }
}

extension OriginSettingsTable {
    /// The rules of all origins that have some, in a fixed order; nil for none.
    package var keyQueries: [KeyQueryRule]? {
        var rules: [KeyQueryRule] = []
        if let rule = standard.keyQuery, rule.bytes > 0 { rules.append(rule) }
        for (origin, settings) in byOrigin.sorted(by: { $0.key < $1.key })
        where settings.keyQuery != standard.keyQuery {
            rules.append(
                KeyQueryRule(
                    origin: origin, keep: settings.keyQuery?.keep ?? [],
                    leaveOut: settings.keyQuery?.leaveOut ?? []))
        }
        return rules.isEmpty ? nil : rules
    }
}
