/// The kind of an event: what changed and its new state, such as `asset.failed`.
package struct EventKind: Hashable, Sendable, RawRepresentable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// The first part of the name, such as `asset`: what changed.
    package var subject: Substring { rawValue.prefix { $0 != "." } }

    /// All kinds, by subject.
    package static let all: [EventKind] =
        kinds("catalog", CatalogState.allCases.map(\.rawValue) + ["listApplied", "listFailed"])
        + kinds(
            "asset",
            AssetState.allCases.map(\.rawValue) + [
                "paused", "resumed", "evicted", "gap", "unrecorded", "recorded",
            ])
        + kinds("worker", ["joined", "lost", "returned", "failing", "recovered"])
        + kinds("origin", ["cooldown", "open", "halfOpen", "failing", "closed"])
        + kinds("site", ["faulty", "recovered", "closed", "opened", "audited", "damaged"])
        + kinds("queue", ["active", "paused", "draining"])

    /// The subjects, in the order of `all`.
    package static let subjects = ["catalog", "asset", "worker", "origin", "site", "queue"]

    private static func kinds(_ subject: String, _ states: [String]) -> [EventKind] {
        states.map { EventKind(rawValue: "\(subject).\($0)") }
    }

    /// Lists what a name may be, for messages: for one of a known subject the kinds of the subject.
    package static func allowedNames(for name: some StringProtocol) -> String {
        let subject = name.prefix { $0 != "." }
        let kinds = all.filter { $0.subject == subject }
        guard !kinds.isEmpty else {
            return subjects.joined(separator: ", ")
                + ", or a kind of one of these, such as asset.failed"
        }
        return "\(subject), or one of " + kinds.map(\.rawValue).joined(separator: ", ")
    }

    /// Returns the kinds that a name means: one kind, or all of a subject. Empty for an unknown name.
    package static func named(_ name: some StringProtocol) -> [EventKind] {
        all.filter { $0.rawValue == name || $0.subject == name }
    }
}

extension EventKind: Codable {
    package init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

extension EventKind: CustomStringConvertible {
    package var description: String { rawValue }
}
