import Model
import WebURL

/// The counts of a list.
package struct ListCounts: Hashable, Sendable {
    /// Distinct assets.
    package var assets = 0
    /// Assets of kind `hls` and `dash`.
    package var titles = 0
    /// Assets of kind `file`.
    package var files = 0
    /// Sidecars of all entries; repeated assets have equal ones.
    package var sidecars = 0
    /// Bytes of the files with a known length.
    package var knownBytes: Int64 = 0
    /// Files with a digest.
    package var withDigest = 0
    /// Entries that repeat an asset with equal attributes.
    package var repeats = 0

    package init(assets: Int = 0, titles: Int = 0, files: Int = 0) {
        self.assets = assets
        self.titles = titles
        self.files = files
    }
}

/// An ignored part of a list.
package struct ListNotice: Hashable, Sendable {
    /// `ListReader.document` at that time: the URL of one document of several.
    package var document: String?
    package var line: Int
    package var message: String
}

/// A sitemap listed in a sitemap index.
package struct ListedSitemap: Hashable, Sendable {
    package var url: String
    /// Line in the index.
    package var line: Int

    package init(url: String, line: Int) {
        self.url = url
        self.line = line
    }
}

/// Collects the results of all readers. Owned by one reader.
final class ListOutput {
    /// Assets since the last call.
    private var assets: [AssetSubmission] = []
    private var names: NameTable?
    /// Rules of keys.
    let rules: KeyQueryRules
    private(set) var counts = ListCounts()
    private(set) var rejections: Rejections
    var notices = Notices()
    var sitemaps = Sitemaps()
    /// The URL of the current document; nil if it is not known.
    var base: String?
    /// The directory whose listing is the first document.
    var root: WebURL?
    /// Results of `finish`, or of an earlier pass.
    private(set) var sharedKeys: SharedKeys
    /// Entries of the list so far.
    private(set) var entries = 0

    init(
        names: NameTable?, maxFailures: Int, sharedKeys: SharedKeys = SharedKeys(),
        rules: KeyQueryRules = KeyQueryRules()
    ) {
        self.rules = rules
        self.names = names
        self.sharedKeys = sharedKeys
        rejections = Rejections(max: maxFailures)
    }

    func takeAssets() -> [AssetSubmission] {
        defer { assets = [] }
        return assets
    }

    /// Adds an asset whose entry begins on `line`.
    func add(_ asset: AssetSubmission, line: Int) throws(Failure) {
        entries += 1
        if entries > ListReader.entries {
            throw Failure(
                .inputTooLarge, at: .line(line),
                "a list holds at most \(ListReader.entries) assets")
        }
        var asset = asset
        do throws(Failure) {
            try asset.rekey(rules)
        } catch {
            throw error.at(.line(line))
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
        // 10 million lengths of 16 TiB exceed 64 bits.
        let sum = counts.knownBytes.addingReportingOverflow(bytes * Int64(times))
        counts.knownBytes = sum.overflow ? .max : sum.partialValue
    }

    /// Records an unusable entry; throws unless failures are collected.
    func reject(_ failure: Failure) throws(Failure) { try rejections.add(failure) }

    /// Finds repeated names.
    func finish() throws(Failure) {
        guard var names else { return }
        self.names = nil
        let conflicts = try names.finish { again in
            counts.assets -= 1
            counts.repeats += 1
            count(again.bytes, isTitle: again.isTitle, hasDigest: again.hasDigest, times: -1)
        } shared: { (key) throws(Failure) in
            try sharedKeys.insert(key.hash)
            notices.add(
                key.line,
                key.count > 1
                    ? "\(key.count) URLs from here on differ only in an apparent token: the names "
                        + "of their files get a hash"
                    : "the URL differs from another entry's only in an apparent signature or "
                        + "token: the name of its file gets a hash")
        }
        for conflict in conflicts {
            try reject(
                Failure(
                    .inputDuplicate, at: .line(conflict.line, field: "name"),
                    "repeats the name of line "
                        + "\(conflict.before) for a different asset"))
        }
    }
}

/// Unusable entries: the first ones, and their number.
struct Rejections {
    /// Maximum number of collected failures; 0 ends at the first one.
    private let max: Int
    private(set) var failures: [Failure] = []
    private(set) var count = 0

    init(max: Int) { self.max = max }

    /// Throws unless failures are collected.
    mutating func add(_ failure: Failure) throws(Failure) {
        count += 1
        guard max > 0 else { throw failure }
        if failures.count < max { failures.append(failure) }
    }
}

/// Ignored parts: the first ones, and their number.
struct Notices {
    /// URL of the current document; nil for a list of one document.
    var document: String?
    private(set) var first: [ListNotice] = []
    private(set) var count = 0
    private var topics: Set<String> = []

    private static let max = 20

    /// Adds a notice; once per `topic`.
    mutating func add(_ line: Int, _ message: String, topic: String? = nil) {
        if let topic, topics.count >= 1_000 || !topics.insert(topic).inserted { return }
        count += 1
        if first.count < Self.max {
            first.append(ListNotice(document: document, line: line, message: message))
        }
    }
}

/// Sitemaps that indexes list.
struct Sitemaps {
    /// Those since the last call of `take`.
    private var new: [ListedSitemap] = []
    private var count = 0

    mutating func take() -> [ListedSitemap] {
        defer { new = [] }
        return new
    }

    /// Adds a sitemap of an index, listed on `line`.
    mutating func add(_ url: WebURL, line: Int) throws(Failure) {
        count += 1
        guard count <= ListReader.sitemaps else {
            throw Failure(
                .inputTooLarge, at: .line(line),
                "a list has at most \(ListReader.sitemaps) sitemaps or directories")
        }
        new.append(ListedSitemap(url: url.text, line: line))
    }
}

/// Reads one form of list. Confined to one thread; unusable after a failure.
protocol ListDecoder: AnyObject {
    /// The detected form; nil for an unsupported one.
    var format: ListFormat? { get }
    /// Number of the last line, from 1.
    var line: Int { get }
    func feed(_ bytes: [UInt8], _ output: ListOutput) throws(Failure)
    /// Handles the end of the list.
    func finish(_ output: ListOutput) throws(Failure)
}
