/// One rule that one manifest breaks, where it does so first.
package struct ManifestWarning: Codable, Hashable, Sendable {
    /// The raw value of a `ManifestRule`.
    package var rule: String
    package var source: String
    /// The manifest's URL without secrets.
    package var manifest: String
    /// From 1; nil where nothing tells.
    package var line: Int?
    /// How often the manifest breaks it.
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

/// What in a title's manifests breaks rules, and is read as players read it.
package struct ManifestWarnings: Codable, Hashable, Sendable {
    /// Most that are kept of a title.
    package static let mostKept = 100
    /// Unicode scalars of a URL and of a message.
    package static let textCharacters = 400

    /// All, those that are not kept as well.
    package private(set) var count = 0
    /// The first of each rule of each manifest, `mostKept` at most.
    package private(set) var first: [ManifestWarning] = []

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Adds one of a manifest; `message` is called for what is kept alone.
    package mutating func add(
        _ rule: ManifestRule, in manifest: String, line: Int?, _ message: () -> String
    ) {
        count += 1
        let known = first.firstIndex { $0.rule == rule.rawValue && $0.manifest == manifest }
        if let known { return first[known].count += 1 }
        guard first.count < Self.mostKept else { return }
        let row = rule.row
        first.append(
            ManifestWarning(
                rule: rule.rawValue, source: row.source, manifest: manifest, line: line, count: 1,
                message: Self.clipped("\(message()); \(row.reading)")))
    }

    /// As much of a text as is kept.
    package static func clipped(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(textCharacters)))
    }

    /// Adds those of another manifest.
    package mutating func add(_ others: ManifestWarnings) {
        count += others.count
        first += others.first.prefix(Self.mostKept - first.count)
    }

    /// With so many kept at most.
    package func bounded(to most: Int) -> ManifestWarnings {
        var bounded = self
        bounded.first = Array(first.prefix(most))
        return bounded
    }
}
