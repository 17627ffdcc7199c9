import Lists
import Model
import Synchronization

/// What a list consists of beside the file that it may be: the list at a URL, and the sitemaps that indexes of
/// sitemaps name, at any depth to a bound. Each is fetched once, for both readings.
final class ListDocuments: Sendable {
    /// How deep sitemaps may lie: an index that an index names is at depth 2.
    static let mostDepth = 3

    struct Document: Sendable {
        /// Its URL, as it may be shown.
        var label: String
        var extent: ListDownloader.Extent
        var depth: Int
    }

    private struct State {
        var documents: [Document] = []
        var urls: Set<String> = []
        /// Named, of which the first `fetched` were fetched.
        var waiting: [(url: String, depth: Int)] = []
        var fetched = 0
    }

    private let downloader: ListDownloader
    private let state = Mutex(State())

    init(_ downloader: ListDownloader) { self.downloader = downloader }

    /// Those that were fetched, in their order.
    var all: [Document] { state.withLock { $0.documents } }

    /// Names a list to fetch; once for each URL.
    ///
    /// - Parameter label: of the list that names it.
    func add(_ sitemaps: [ListedSitemap], depth: Int, in label: String) throws(Failure) {
        guard let first = sitemaps.first else { return }
        guard depth <= Self.mostDepth else {
            throw Failure(
                "input.tooLarge",
                "\(label): line \(first.line): indexes of sitemaps are nested deeper than "
                    + "\(Self.mostDepth - 1)")
        }
        state.withLock { state in
            for sitemap in sitemaps where state.urls.insert(sitemap.url).inserted {
                state.waiting.append((sitemap.url, depth))
            }
        }
    }

    /// Fetches the next one; nil where there is none.
    func next() throws(Failure) -> Document? {
        let waiting = state.withLock { state -> (url: String, depth: Int)? in
            guard state.fetched < state.waiting.count else { return nil }
            defer { state.fetched += 1 }
            return state.waiting[state.fetched]
        }
        guard let (url, depth) = waiting else { return nil }
        let document = Document(
            label: Redaction.shown(url), extent: try downloader.fetch(url), depth: depth)
        state.withLock { $0.documents.append(document) }
        return document
    }
}
