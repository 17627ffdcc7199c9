package import Model
import Text
package import WebURL

/// Reads a list of assets in any form of `ListFormat`.
///
/// Feed it the bytes as they arrive, then call `finish`; both return assets. It detects the form
/// from the start of the list, unless the form is given. It keeps only an index of names to find
/// duplicates (`NameTable`) and the incomplete entry.
///
/// Every failure has the line, and the field if there is one. After a failure the reader is
/// unusable. A repeated asset with equal attributes is returned twice and counted once.
package struct ListReader {
    /// Maximum number of entries of a list.
    package static let entries = 10_000_000
    /// Maximum number of lines of a list: an entry may have several.
    package static let lines = 10 * entries
    /// Maximum length of a line in bytes, for lines that are entries or elements.
    package static let lineBytes = 64 << 10
    /// Maximum size of a list in bytes, decompressed.
    package static let listBytes = 64 << 30

    /// Maximum number of sitemaps in sitemap indexes.
    package static let sitemaps = 50_000

    /// The given form of the first document.
    private var forced: ListFormat?
    private let followsIndexes: Bool
    private let output: ListOutput
    private var decoder: (any ListDecoder)?
    /// Start of the list until its form is known.
    private var held: [UInt8] = []
    private var fed = 0
    /// True between the end of a document and the start of the next.
    private var isBetweenDocuments = false

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - format: the form; nil to detect it.
    ///   - findsRepeats: false for a list that was read before; then no names are kept.
    ///   - scratch: storage for names that exceed memory; nil keeps them in memory.
    ///   - sharedKeys: the result of an earlier pass.
    ///   - maxFailures: maximum number of unusable entries collected in `failures`; 0 throws the
    ///     first one. Failures that prevent further reading are always thrown.
    ///   - rules: the query parameters that belong to keys, by origin.
    ///   - followsIndexes: true reads sitemap indexes, for `takeSitemaps`; false rejects them.
    package init(
        format: ListFormat? = nil, findsRepeats: Bool = true,
        scratch: (any ListScratch)? = nil, maxFailures: Int = 0,
        sharedKeys: SharedKeys = SharedKeys(), rules: KeyQueryRules = KeyQueryRules(),
        followsIndexes: Bool = false
    ) {
        forced = format
        self.followsIndexes = followsIndexes
        output = ListOutput(
            names: findsRepeats ? NameTable(scratch, rules) : nil, maxFailures: maxFailures,
            sharedKeys: sharedKeys, rules: rules)
    }

    /// The form; nil until it is detected, and for unsupported XML. A URL list may turn out to be
    /// aria2's.
    package var format: ListFormat? { decoder?.format ?? forced }
    /// The name of a JSON catalog; nil without one, and possibly before `finish`.
    package var catalogName: String? { (decoder as? JSONList)?.catalogName }
    /// The priority of a JSON catalog, 0 to 9.
    package var priority: Int? { (decoder as? JSONList)?.priority }
    /// The counts so far; `finish` subtracts repeats.
    package var counts: ListCounts { output.counts }
    /// The first unusable entries, and their total number.
    package var failures: [Failure] { output.rejections.failures }
    package var failureCount: Int { output.rejections.count }
    /// The first notices, and their total number.
    package var notices: [ListNotice] { output.notices.first }
    package var noticeCount: Int { output.notices.count }
    /// Input for another pass over the same list by this process; complete after `finish`.
    package var sharedKeys: SharedKeys { output.sharedKeys }

    /// Returns the asset of a URL on the command line.
    package static func asset(
        url text: String, _ rules: KeyQueryRules = KeyQueryRules()
    ) throws(Failure) -> AssetSubmission {
        let url: WebURL
        do throws(WebURLError) {
            url = try WebURL(text)
        } catch {
            throw Failure(.inputURL, "the URL \(error.detail), given \(Redaction.shown(text))")
        }
        var asset = try asset(url: url)
        try asset.rekey(rules)
        return asset
    }

    /// The current document's URL for notices, in a list of several.
    package var document: String? {
        get { output.notices.document }
        nonmutating set { output.notices.document = newValue }
    }

    /// The URL of the current document, against which a directory listing's links are resolved.
    package var base: String? {
        get { output.base }
        nonmutating set { output.base = newValue }
    }

    /// Returns the sitemaps found in indexes, and the directories in listings, since the last call.
    package func takeSitemaps() -> [ListedSitemap] { output.sitemaps.take() }

    /// Reads the next bytes of the list.
    package mutating func feed(_ bytes: [UInt8]) throws(Failure) -> [AssetSubmission] {
        beginDocument()
        fed += bytes.count
        if fed > Self.listBytes {
            throw Failure(.inputTooLarge, "a list holds at most \(Self.listBytes) bytes")
        }
        if let decoder {
            try decoder.feed(bytes, output)
        } else {
            held += bytes
            try begin(isWhole: false)
        }
        return output.takeAssets()
    }

    /// Ends one document of a list with several; the next one may have another form.
    package mutating func finishDocument() throws(Failure) -> [AssetSubmission] {
        try endDocument()
        return output.takeAssets()
    }

    private mutating func beginDocument() {
        guard isBetweenDocuments else { return }
        isBetweenDocuments = false
        (decoder, held) = (nil, [])
        if forced != .directory { forced = nil }
    }

    private mutating func endDocument() throws(Failure) {
        beginDocument()
        if decoder == nil { try begin(isWhole: true) }
        try decoder?.finish(output)
        isBetweenDocuments = true
    }

    /// Ends the list.
    package mutating func finish() throws(Failure) -> [AssetSubmission] {
        if !isBetweenDocuments { try endDocument() }
        try output.finish()
        if output.entries == 0, output.rejections.count == 0 {
            throw Failure(
                .inputEmpty, at: .line(max(decoder?.line ?? 1, 1), column: 1),
                "the list names no asset")
        }
        return output.takeAssets()
    }

    /// Chooses the decoder once the form is known, and feeds it the buffered start.
    private mutating func begin(isWhole: Bool) throws(Failure) {
        // A byte order mark has three bytes.
        if !isWhole, held.count < 4 { return }
        if held.starts(with: ASCII.byteOrderMark) { held.removeFirst(3) }
        guard let decoder = try decoder(isWhole: isWhole) else { return }
        self.decoder = decoder
        let all = held
        held = []
        try decoder.feed(all, output)
    }

    private func decoder(isWhole: Bool) throws(Failure) -> (any ListDecoder)? {
        switch forced {
        case .json: return JSONList()
        case .ndjson: return NDJSONList()
        case .urls, .aria2: return URLList(forced)
        case .csv: return CSVList()
        case .gsts: return TransferServiceList()
        case .metalink, .sitemap: return XMLList(forced, followsIndexes: followsIndexes)
        case .directory:
            return try DirectoryList.decoder(of: held, isWhole: isWhole, output)
        case nil: break
        }
        switch try FormatDetector.family(of: held, isWhole: isWhole) {
        case .json: return JSONList()
        case .ndjson: return NDJSONList()
        case .lines: return URLList(nil)
        case .csv: return CSVList()
        case .gsts: return TransferServiceList()
        case .xml: return XMLList(nil, followsIndexes: followsIndexes)
        case nil: return nil
        }
    }

    /// Returns an asset of `url` with defaults.
    static func asset(url: WebURL) throws(Failure) -> AssetSubmission {
        let key = try SiteKey(url).text
        return AssetSubmission(
            name: defaultName(key), url: url.text, kind: defaultKind(of: url), key: key)
    }

    /// Returns the key, cut to the maximum length of a name, which is below that of a key.
    static func defaultName(_ key: String) -> String {
        guard key.utf8.count > 1_000, key.count > 1_000 else { return key }
        let hash = String(decoding: StableHash.hex([UInt8](key.utf8)[...]), as: UTF8.self)
        return key.prefix(960) + "~" + hash
    }

    /// Returns HLS for `.m3u8` and `.m3u`, DASH for `.mpd`, otherwise file.
    package static func defaultKind(of url: WebURL) -> AssetKind {
        defaultKind(ofPath: url.path)
    }

    /// Does the same for a path.
    package static func defaultKind(ofPath path: String) -> AssetKind {
        let path = path.lowercased()
        if path.hasSuffix(".m3u8") || path.hasSuffix(".m3u") { return .hls }
        return path.hasSuffix(".mpd") ? .dash : .file
    }
}
