import Lists
import Model
import Synchronization

/// The documents of a list besides its file: the list at a URL, and the sitemaps of sitemap
/// indexes, nested to a limit. Each is fetched once, for both passes over the list.
final class ListDocuments: Sendable {
    /// Maximum depth of sitemaps: an index in an index is at depth 2.
    static let maxDepth = 3

    struct Document: Sendable {
        /// Its URL for messages.
        var label: String
        var extent: ListDownloader.Extent
        var depth: Int
    }

    private struct State {
        var documents: [Document] = []
        var urls: Set<String> = []
        /// Listed URLs, of which the first `fetched` were fetched.
        var waiting: [(url: String, depth: Int)] = []
        var fetched = 0
    }

    private let downloader: ListDownloader
    private let state = Mutex(State())

    init(_ downloader: ListDownloader) { self.downloader = downloader }

    /// The fetched documents in order.
    var all: [Document] { state.withLock { $0.documents } }

    /// Adds sitemaps to fetch, once for each URL.
    ///
    /// - Parameter label: the list that contains them.
    func add(_ sitemaps: [ListedSitemap], depth: Int, in label: String) throws(Failure) {
        guard let first = sitemaps.first else { return }
        guard depth <= Self.maxDepth else {
            throw Failure(
                .inputTooLarge, at: .line(first.line, document: label),
                "indexes of sitemaps are nested deeper than "
                    + "\(Self.maxDepth - 1)")
        }
        state.withLock { state in
            for sitemap in sitemaps where state.urls.insert(sitemap.url).inserted {
                state.waiting.append((sitemap.url, depth))
            }
        }
    }

    /// Fetches the next document; returns nil if there is none.
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
