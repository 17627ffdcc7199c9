/// A message that a statement of SQL records by its values: JSON such as
/// `{"maxSites":{"sites":2,"allowed":2}}`. `sentence` is its text.
///
/// It contains no secrets.
package enum RecordedMessage: Codable, Sendable, Hashable {
    /// The key of an asset holds another object: that of a URL, of a catalog, which is `isOther`
    /// than the asset's.
    case keyTaken(key: String, holder: String, catalog: String, isOther: Bool)
    /// A title is at this many other sites; `allowed` counts the asset's own too.
    case maxSites(sites: Int64, allowed: Int64)
    /// A title was fetched this many times within a period of seconds.
    case maxFetches(fetches: Int64, seconds: Double, allowed: Int64)
    /// Workers have deleted the files of an asset.
    case freed(files: Int64, bytes: Int64)
    /// A rendition or the like has joined a title that is recorded without it.
    case unrecorded(name: String)
    /// An audit has ended.
    case audited(audit: Int64, state: String, findings: Int64, damaged: Int64)
    /// A webhook's delivery has waited for too long; the message of its last attempt.
    case undelivered(days: Int64, last: String?)

    /// The message for people, in English.
    package var sentence: String {
        switch self {
        case .keyTaken(let key, let holder, let catalog, let isOther):
            "\(key): \(holder) of catalog \(catalog) is stored there"
                + (isOther ? "; submit under the name \(catalog) to replace it" : "")
        case .maxSites(let sites, let allowed):
            "maxSites: the title is at \(Self.count(sites, "other site")); allowed: \(allowed) in all."
        case .maxFetches(let fetches, let seconds, let allowed):
            "maxFetches: the title was fetched \(Self.count(fetches, "time")) within "
                + "\(Self.text(seconds: seconds)); allowed: \(allowed)."
        case .freed(let files, let bytes):
            "\(Self.count(files, "file")), \(Self.count(bytes, "byte"))"
        case .unrecorded(let name):
            "It has joined the title, and is not recorded: \(name)."
        case .audited(let audit, let state, let findings, let damaged):
            "audit \(audit) \(state): \(Self.count(findings, "finding")), "
                + Self.count(damaged, "missing or damaged file")
        case .undelivered(let days, let last):
            "Not delivered within \(Self.count(days, "day"))."
                + (last.map { " The last attempt: \($0)" } ?? "")
        }
    }

    private static func count(_ number: Int64, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    /// Returns the duration in its largest unit that divides it: `30 days`, `36 hours`, `90 s`.
    private static func text(seconds: Double) -> String {
        guard let whole = Int64(exactly: seconds) else { return "\(seconds) s" }
        if whole >= 86_400, whole % 86_400 == 0 { return count(whole / 86_400, "day") }
        if whole >= 3600, whole % 3600 == 0 { return count(whole / 3600, "hour") }
        return "\(whole) s"
    }
}
