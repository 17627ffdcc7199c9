/// One rule that one manifest breaks, at its first occurrence.
package struct ManifestWarning: Codable, Hashable, Sendable {
    /// The raw value of a `ManifestRule`.
    package var rule: String
    package var source: String
    /// The manifest's URL without secrets.
    package var manifest: String
    /// Line number from 1; nil if unknown.
    package var line: Int?
    /// Number of occurrences in the manifest.
    package var count: Int
    package var message: String

    /// One line for people.
    package var text: String {
        var text = manifest
        if let line { text += " line \(line)" }
        if count > 1 { text += " and \(count - 1) more" }
        return "\(text): \(message) (\(rule); \(source))"
    }
}

/// Warnings of a title: rules that its manifests break and that players tolerate.
package struct ManifestWarnings: Codable, Hashable, Sendable {
    /// Maximum number of warnings kept for a title.
    package static let maxKept = 100
    /// Maximum Unicode scalars of a URL and of a message.
    package static let textCharacters = 400

    /// Number of all warnings, including those not kept.
    package private(set) var count = 0
    /// The first warning of each rule of each manifest, `maxKept` at most.
    package private(set) var first: [ManifestWarning] = []

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Adds a warning of a manifest; `message` is called only for kept ones.
    package mutating func add(
        _ rule: ManifestRule, in manifest: String, line: Int?, _ message: () -> String
    ) {
        count += 1
        let known = first.firstIndex { $0.rule == rule.rawValue && $0.manifest == manifest }
        if let known { return first[known].count += 1 }
        guard first.count < Self.maxKept else { return }
        let row = rule.row
        first.append(
            ManifestWarning(
                rule: rule.rawValue, source: row.source, manifest: manifest, line: line, count: 1,
                message: Self.clipped("\(message()); \(row.reading)")))
    }

    /// Returns the part of a text that is kept.
    package static func clipped(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(textCharacters)))
    }

    /// Adds the warnings of another manifest.
    package mutating func add(_ others: ManifestWarnings) {
        count += others.count
        first += others.first.prefix(Self.maxKept - first.count)
    }

    /// Returns the kept warnings of rules that `others` has none of, in whatever manifest: that of
    /// a later reading may have another URL.
    package func without(rulesOf others: ManifestWarnings) -> ManifestWarnings {
        let rules = Set(others.first.map(\.rule))
        var new = ManifestWarnings()
        new.first = first.filter { !rules.contains($0.rule) }
        new.count = new.first.reduce(0) { $0 + $1.count }
        return new
    }

    /// Returns a copy with a limited number of kept warnings.
    package func bounded(to most: Int) -> ManifestWarnings {
        var bounded = self
        bounded.first = Array(first.prefix(most))
        return bounded
    }
}
