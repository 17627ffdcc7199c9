import Model
import Planner
import Text

/// Requests of files that a site's plan does not have, by title.
///
/// Titles are those of lists, and of the other files those that a plan without LIST would find: the
/// folder of a manifest, or the file itself.
struct MissedTitles {
    /// A title that was missed.
    struct Title: Encodable {
        /// Its name in a list; else its key.
        var title: String
        var requests: Double
        var bytes: Double
    }

    private static let maxFiles = 400_000
    private static let maxShown = 5

    /// Titles of lists.
    private let known: FillTitles
    /// By key of the file; those beyond `maxFiles` are not listed.
    private var files: [String: FillHistory.Count] = [:]

    init(known: FillTitles) { self.known = known }

    mutating func add(_ key: String, _ count: FillHistory.Count) {
        guard files[key] != nil || files.count < Self.maxFiles else { return }
        files[key, default: FillHistory.Count()].add(count)
    }

    /// Returns the titles of which most bytes were missed.
    func most() throws(Failure) -> [Title] {
        let titles = try allTitles()
        // By key of the title, since names are not unique.
        var found: [String: Title] = [:]
        for (key, count) in files {
            let asset = titles.index(ofFile: key).map { titles.titles[$0].asset }
            let name =
                asset.map { Redaction.name($0.name, ofURL: $0.url) } ?? Redaction.key(key)
            var title =
                found[asset?.key ?? key] ?? Title(title: name, requests: 0, bytes: 0)
            title.requests += count.requests
            title.bytes += count.bytes
            found[asset?.key ?? key] = title
        }
        return found.values.sorted { ($0.bytes, $1.title) > ($1.bytes, $0.title) }
            .prefix(Self.maxShown).map(\.self)
    }

    /// The known titles, and those of manifests that belong to none of them.
    private func allTitles() throws(Failure) -> FillTitles {
        var titles = known
        var manifests: [String: Int] = [:]
        for (key, count) in files
        where ManifestName.kind(of: key) != .file && titles.index(ofFile: key) == nil {
            manifests[key] = Int(saturating: count.requests)
        }
        for key in ManifestName.titles(manifests) {
            guard titles.titles.count < FillTitles.most else { break }
            try titles.add(
                FillTitles.Title(
                    asset: AssetSubmission(
                        name: Redaction.key(key), url: "", kind: ManifestName.kind(of: key),
                        key: key)))
        }
        return titles
    }
}
