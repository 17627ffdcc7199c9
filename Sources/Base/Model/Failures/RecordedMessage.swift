/// A message that a statement on many assets records by its values: JSON such as
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
                + "\(Self.text(seconds)) s; allowed: \(allowed)."
        case .freed(let files, let bytes):
            "\(Self.count(files, "file")), \(Self.count(bytes, "byte"))"
        }
    }

    private static func count(_ number: Int64, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    private static func text(_ seconds: Double) -> String {
        Int64(exactly: seconds)?.description ?? seconds.description
    }
}
