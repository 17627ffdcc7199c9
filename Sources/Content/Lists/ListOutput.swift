import Model
import WebURL

/// What a list comes to.
package struct ListCounts: Hashable, Sendable {
    /// Each once, however often the list names it.
    package var assets = 0
    /// Assets of kind `hls` and `dash`.
    package var titles = 0
    /// Assets of kind `file`.
    package var files = 0
    /// Of all entries: those that name an asset again have the same ones.
    package var sidecars = 0
    /// Of the files whose length the list gives.
    package var knownBytes: Int64 = 0
    /// Files that have a digest to be checked with.
    package var withDigest = 0
    /// Entries beyond the first that name an asset again, alike in all.
    package var repeats = 0

    package init(assets: Int = 0, titles: Int = 0, files: Int = 0) {
        self.assets = assets
        self.titles = titles
        self.files = files
    }
}

/// Something in a list that is ignored.
package struct ListNotice: Hashable, Sendable {
    /// What `ListReader.document` was then: the URL of one list of several.
    package var document: String?
    package var line: Int
    package var message: String
}

/// A sitemap that an index of sitemaps names.
package struct ListedSitemap: Hashable, Sendable {
    package var url: String
    /// Of the index.
    package var line: Int

    package init(url: String, line: Int) {
        self.url = url
        self.line = line
    }
}

/// Where the readers of all forms put what they find. Of one reader.
final class ListOutput {
    /// Since they were taken last.
    private var assets: [AssetSubmission] = []
    private var names: NameTable?
    /// Of keys.
    let rules: KeyQueryRules
    /// Failures that are gathered before the reading ends; 0: the first one ends it.
    private let mostFailures: Int
    private(set) var counts = ListCounts()
    private(set) var failures: [Failure] = []
    private(set) var failureCount = 0
    private(set) var notices: [ListNotice] = []
    private(set) var noticeCount = 0
    private var told: Set<String> = []
    /// What `finish` finds, or what was found by another reading.
    private(set) var sharedKeys: SharedKeys

    /// Since they were taken last.
    private var sitemaps: [ListedSitemap] = []
    private var sitemapCount = 0
    /// For notices; nil where the list is one.
    var document: String?

    /// Entries of the list so far.
    private(set) var entries = 0

    private static let mostNotices = 20

    init(
        names: NameTable?, mostFailures: Int, sharedKeys: SharedKeys = SharedKeys(),
        rules: KeyQueryRules = KeyQueryRules()
    ) {
        self.rules = rules
        self.names = names
        self.sharedKeys = sharedKeys
        self.mostFailures = mostFailures
    }

    func takeAssets() -> [AssetSubmission] {
        defer { assets = [] }
        return assets
    }

    func takeSitemaps() -> [ListedSitemap] {
        defer { sitemaps = [] }
        return sitemaps
    }

    /// A sitemap that an index names on `line`.
    func addSitemap(_ url: WebURL, line: Int) throws(Failure) {
        sitemapCount += 1
        guard sitemapCount <= ListReader.sitemaps else {
            throw Failure(
                "input.tooLarge",
                "line \(line): indexes name at most \(ListReader.sitemaps) sitemaps")
        }
        sitemaps.append(ListedSitemap(url: url.text, line: line))
    }

    /// An asset whose entry begins on `line`.
    func add(_ asset: AssetSubmission, line: Int) throws(Failure) {
        entries += 1
        if entries > ListReader.entries {
            throw Failure(
                "input.tooLarge",
                "line \(line): a list holds at most \(ListReader.entries) assets")
        }
        var asset = asset
        do throws(Failure) {
            try asset.rekey(rules)
        } catch {
            throw Failure(error.code, "line \(line): \(error.message)")
        }
        counts.assets += 1
        counts.sidecars += asset.sidecars?.count ?? 0
        count(
            asset.bytes ?? 0, isTitle: asset.kind != .file,
            hasDigest: asset.sha256 != nil || asset.digests != nil, times: 1)
        try names?.add(asset, line: line)
        if !sharedKeys.isEmpty { try sharedKeys.separate(&asset, rules) }
        assets.append(asset)
    }

    private func count(_ bytes: Int64, isTitle: Bool, hasDigest: Bool, times: Int) {
        if isTitle { counts.titles += times } else { counts.files += times }
        if hasDigest { counts.withDigest += times }
        // 10 million lengths of 16 TiB are more than 64 bits hold.
        let sum = counts.knownBytes.addingReportingOverflow(bytes * Int64(times))
        counts.knownBytes = sum.overflow ? .max : sum.partialValue
    }

    /// An entry that cannot be used; the reading goes on only where failures are gathered.
    func reject(_ failure: Failure) throws(Failure) {
        failureCount += 1
        guard mostFailures > 0 else { throw failure }
        if failures.count < mostFailures { failures.append(failure) }
    }

    /// Reports something that is ignored; once for each `topic`.
    func pass(_ line: Int, _ message: String, topic: String? = nil) {
        if let topic, told.count >= 1_000 || !told.insert(topic).inserted { return }
        noticeCount += 1
        if notices.count < Self.mostNotices {
            notices.append(ListNotice(document: document, line: line, message: message))
        }
    }

    /// Finds the names that stand twice.
    func finish() throws(Failure) {
        guard var names else { return }
        self.names = nil
        let conflicts = try names.finish { again in
            counts.assets -= 1
            counts.repeats += 1
            count(again.bytes, isTitle: again.isTitle, hasDigest: again.hasDigest, times: -1)
        } shared: { (key) throws(Failure) in
            try sharedKeys.insert(key.hash)
            pass(
                key.line,
                key.count > 1
                    ? "\(key.count) URLs, this the first, differ in what looks like a token alone: the name of "
                        + "each one's file gets a hash"
                    : "but for what looks like a signature or token, the URL is that of another entry: the "
                        + "name of its file gets a hash")
        }
        for conflict in conflicts {
            try reject(
                Failure(
                    "input.duplicate",
                    "line \(conflict.line): field name: the name of line \(conflict.before) stands "
                        + "here again, for an asset that differs"))
        }
    }
}

/// Reads one form of list. Used by one thread; after a failure it is done.
protocol ListDecoder: AnyObject {
    /// What it turned out to be; nil where it is none that is read.
    var format: ListFormat? { get }
    /// The line that came last, from 1.
    var line: Int { get }
    func feed(_ bytes: [UInt8], _ output: ListOutput) throws(Failure)
    /// The end of the list.
    func finish(_ output: ListOutput) throws(Failure)
}
