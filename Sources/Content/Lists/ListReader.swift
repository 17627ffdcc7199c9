package import Model
import Text
package import WebURL

/// Reads a list of assets in any form of `ListFormat`.
///
/// Feed it the bytes as they come, then call `finish`; both hand out assets. Which form it is follows
/// from how the list begins, unless it is told. Nothing of a list is kept but what finds names that
/// stand twice (`NameTable`) and the entry that is not whole yet.
///
/// Every failure names the line, and the field where there is one. After one the reader is done.
/// An asset that is named twice alike is handed out twice, and counted once.
package struct ListReader {
    /// Most entries of a list.
    package static let entries = 10_000_000
    /// Most lines of a list: an entry may have several.
    package static let lines = 10 * entries
    /// Longest line in bytes, where a line is an entry or an element.
    package static let lineBytes = 64 << 10
    /// Longest list in bytes; of one that is compressed, decoded.
    package static let listBytes = 64 << 30

    /// Most sitemaps that indexes of sitemaps may name.
    package static let sitemaps = 50_000

    /// Of the first document.
    private var forced: ListFormat?
    private let followsIndexes: Bool
    private let output: ListOutput
    private var decoder: (any ListDecoder)?
    /// The start of the list, until it tells which form it has.
    private var held: [UInt8] = []
    private var fed = 0
    /// A document has ended, and no other one has begun.
    private var isBetweenDocuments = false

    /// - Parameters:
    ///   - format: the form; nil to tell it from the list.
    ///   - findsRepeats: false for a list that was read before: nothing is kept then.
    ///   - scratch: where names go that memory is too small for; nil keeps them.
    ///   - sharedKeys: what a reading before found.
    ///   - mostFailures: entries that cannot be used and are gathered in `failures`; with 0 the first
    ///     one is thrown. What is beyond reading on is thrown in any case.
    ///   - rules: which query parameters belong to keys, by origin.
    ///   - followsIndexes: an index of sitemaps is read, for `takeSitemaps`, and refused otherwise.
    package init(
        format: ListFormat? = nil, findsRepeats: Bool = true,
        scratch: (any ListScratch)? = nil, mostFailures: Int = 0,
        sharedKeys: SharedKeys = SharedKeys(), rules: KeyQueryRules = KeyQueryRules(),
        followsIndexes: Bool = false
    ) {
        forced = format
        self.followsIndexes = followsIndexes
        output = ListOutput(
            names: findsRepeats ? NameTable(scratch, rules) : nil, mostFailures: mostFailures,
            sharedKeys: sharedKeys, rules: rules)
    }

    /// The form; nil before enough of the list was there, and of XML that is none. A URL a line may turn out as aria2's.
    package var format: ListFormat? { decoder?.format ?? forced }
    /// The name that a JSON catalog gives itself; nil when it gives none, and maybe before `finish`.
    package var catalogName: String? { (decoder as? JSONList)?.catalogName }
    /// The priority that a JSON catalog gives itself, 0 to 9.
    package var priority: Int? { (decoder as? JSONList)?.priority }
    /// What was read; repeats are taken off by `finish`.
    package var counts: ListCounts { output.counts }
    /// The first entries that cannot be used, and how many there are.
    package var failures: [Failure] { output.failures }
    package var failureCount: Int { output.failureCount }
    /// The first things that were ignored, and how many there are.
    package var notices: [ListNotice] { output.notices }
    package var noticeCount: Int { output.noticeCount }
    /// What another reading of the same list by this process needs; complete after `finish`.
    package var sharedKeys: SharedKeys { output.sharedKeys }

    /// The asset that one URL on the command line stands for.
    package static func asset(
        url text: String, _ rules: KeyQueryRules = KeyQueryRules()
    ) throws(Failure) -> AssetSubmission {
        let url: WebURL
        do throws(WebURLError) {
            url = try WebURL(text)
        } catch {
            throw Failure("input.url", "the URL \(error.detail), given \(Redaction.shown(text))")
        }
        var asset = try asset(url: url)
        try asset.rekey(rules)
        return asset
    }

    /// Names what is read from now on in notices: the URL of one document of several.
    package var document: String? {
        get { output.document }
        nonmutating set { output.document = newValue }
    }

    /// The sitemaps that indexes have named since the last call.
    package func takeSitemaps() -> [ListedSitemap] { output.takeSitemaps() }

    /// The next bytes of the list.
    package mutating func feed(_ bytes: [UInt8]) throws(Failure) -> [AssetSubmission] {
        beginDocument()
        fed += bytes.count
        if fed > Self.listBytes {
            throw Failure("input.tooLarge", "a list holds at most \(Self.listBytes) bytes")
        }
        if let decoder {
            try decoder.feed(bytes, output)
        } else {
            held += bytes
            try begin(isWhole: false)
        }
        return output.takeAssets()
    }

    /// The end of one document of a list that consists of several; what follows is the next one, of any form.
    package mutating func finishDocument() throws(Failure) -> [AssetSubmission] {
        try endDocument()
        return output.takeAssets()
    }

    private mutating func beginDocument() {
        guard isBetweenDocuments else { return }
        isBetweenDocuments = false
        (decoder, held, forced) = (nil, [], nil)
    }

    private mutating func endDocument() throws(Failure) {
        beginDocument()
        if decoder == nil { try begin(isWhole: true) }
        try decoder?.finish(output)
        isBetweenDocuments = true
    }

    /// The end of the list.
    package mutating func finish() throws(Failure) -> [AssetSubmission] {
        if !isBetweenDocuments { try endDocument() }
        try output.finish()
        if output.entries == 0, output.failureCount == 0 {
            throw Failure(
                "input.empty",
                "line \(max(decoder?.line ?? 1, 1)), column 1: the list names no asset")
        }
        return output.takeAssets()
    }

    /// Chooses the decoder once the start of the list tells which, and gives it what is held.
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

    /// An asset of `url` with everything else by default.
    static func asset(url: WebURL) throws(Failure) -> AssetSubmission {
        let key = try SiteKey(url).text
        return AssetSubmission(
            name: defaultName(key), url: url.text, kind: defaultKind(of: url), key: key)
    }

    /// The key, cut to what a name may hold: the bound of a key is the larger one.
    static func defaultName(_ key: String) -> String {
        guard key.utf8.count > 1_000, key.count > 1_000 else { return key }
        let hash = String(decoding: StableHash.hex([UInt8](key.utf8)[...]), as: UTF8.self)
        return key.prefix(960) + "~" + hash
    }

    /// `.m3u8` and `.m3u` are HLS, `.mpd` is DASH, everything else a file.
    package static func defaultKind(of url: WebURL) -> AssetKind {
        let path = url.path.lowercased()
        if path.hasSuffix(".m3u8") || path.hasSuffix(".m3u") { return .hls }
        return path.hasSuffix(".mpd") ? .dash : .file
    }
}
