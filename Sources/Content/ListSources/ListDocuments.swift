import Digest
import Lists
import Model
import Synchronization

/// The documents of a list besides its file: the list at a URL, the sitemaps of sitemap indexes, and
/// the directories of a listing, nested to a limit. Each is fetched once, for both passes over the
/// list.
final class ListDocuments: Sendable {
    struct Document: Sendable {
        /// Its URL for messages.
        var label: String
        var content: ListDownloader.Download
        var depth: Int
    }

    private struct State {
        var documents: [Document] = []
        /// Number of documents that the first pass has read.
        var read = 0
        var urls: Set<String> = []
        /// Listed URLs, of which the first `fetched` were fetched.
        var waiting: [(url: String, depth: Int)] = []
        var fetched = 0
    }

    private let downloader: ListDownloader
    private let format: ListFormat?
    private let state = Mutex(State())

    init(_ downloader: ListDownloader, _ format: ListFormat?) {
        self.downloader = downloader
        self.format = format
    }

    /// The fetched documents in order.
    var all: [Document] { state.withLock { $0.documents } }

    /// Maximum depth of a document. An index in an index of sitemaps is at depth 2; the first
    /// document of a list at a URL at depth 0.
    private var maxDepth: Int { format == .directory ? 16 : 3 }

    /// The digest of all documents and their URLs.
    var sha256: String {
        var hasher = SHA256Hasher()
        for document in all {
            let line = Array("\(document.content.sha256) \(document.content.finalURL)\n".utf8)
            line.withUnsafeBytes { hasher.update($0) }
        }
        return "\(hasher.finish())"
    }

    /// The validator of the only document; nil if there are several, of which each may change.
    var validator: String? {
        let all = all
        return all.count == 1 ? all[0].content.validator : nil
    }

    /// Adds documents to fetch, once for each URL.
    ///
    /// - Parameter label: the list that contains them.
    func add(_ listed: [ListedSitemap], depth: Int, in label: String) throws(Failure) {
        guard let first = listed.first else { return }
        guard depth <= maxDepth else {
            let what = format == .directory ? "directories" : "indexes of sitemaps"
            throw Failure(
                .inputTooLarge, at: .line(first.line, document: label),
                "\(what) are nested deeper than \(maxDepth - 1)")
        }
        state.withLock { state in
            for document in listed where state.urls.insert(document.url).inserted {
                state.waiting.append((document.url, depth))
            }
        }
    }

    /// Fetches the list at a URL. Returns false if the origin confirms `validator`.
    func begin(_ url: String, unless validator: String?) async throws(Failure) -> Bool {
        try add([ListedSitemap(url: url, line: 1)], depth: 0, in: "")
        return try await fetch(unless: validator)?.content.isUnchanged == false
    }

    /// Returns the next document of the first pass; nil if there is none.
    func next() async throws(Failure) -> Document? {
        if let document = takeFetched() { return document }
        _ = try await fetch(unless: nil)
        return takeFetched()
    }

    private func takeFetched() -> Document? {
        state.withLock { state in
            guard state.read < state.documents.count else { return nil }
            defer { state.read += 1 }
            return state.documents[state.read]
        }
    }

    /// Fetches the next listed document; returns nil if there is none.
    private func fetch(unless validator: String?) async throws(Failure) -> Document? {
        let waiting = state.withLock { state -> (url: String, depth: Int)? in
            guard state.fetched < state.waiting.count else { return nil }
            defer { state.fetched += 1 }
            return state.waiting[state.fetched]
        }
        guard let (url, depth) = waiting else { return nil }
        let document = Document(
            label: Redaction.shown(url),
            content: try await downloader.fetch(
                url, isPage: format == .directory, unless: validator), depth: depth)
        state.withLock { $0.documents.append(document) }
        return document
    }
}
