import Model
import Text
import WebURL

/// Rewrites an HLS playlist for the edge.
///
/// The playlist stays as served if a player finds its references at the edge. Otherwise only these
/// changes are made. URIs become relative paths to stored objects, and unselected tracks are
/// removed. Keys that are not stored get absolute URLs. References away from the edge, or to
/// objects that an ended playlist does not store, are removed (content steering, partial segments,
/// preload hints, rendition reports). A variable from the query of the playlist's URL gets its
/// value. A captured live playlist is marked as ended.
struct HLSRewriter {
    private let bytes: [UInt8]
    private let base: ReferenceBase
    private let namingBase: ReferenceBase
    private let variables: [String: String]
    private let storesKeys: Bool
    /// True if URIs are written without variables.
    private let replacesVariables: Bool
    private let reference: EdgeReference
    private let rules: KeyQueryRules
    /// For references to the origin of `namingBase`.
    private let names: KeyQueryRules.Names
    private var edits: ManifestEdits
    /// True if the next segment is a gap.
    private var isGap = false
    /// True if a variable has a token of the playlist's URL, which must not be stored.
    private var hidesVariables = false

    /// Rewrites a playlist.
    ///
    /// - Parameters:
    ///   - playlist: the playlist parsed from `bytes`.
    ///   - url: its final URL.
    ///   - named: the URL of its key.
    ///   - choice: the selected tracks.
    ///   - storesKeys: false if keys stay at the origin.
    ///   - replacesVariables: true to write the values of variables in URIs, for a recording: names
    ///     of its files get marks, and variables of later readings may have other values.
    ///   - rules: the query parameters that belong to keys.
    init(
        _ playlist: HLSPlaylist, _ bytes: [UInt8], url: WebURL, named: WebURL,
        choice: HLSTracks.Choice = HLSTracks.Choice(), storesKeys: Bool = true,
        replacesVariables: Bool = false, rules: KeyQueryRules = KeyQueryRules()
    ) throws(Failure) {
        self.bytes = bytes
        base = ReferenceBase(url)
        namingBase = ReferenceBase(named)
        variables = playlist.variables
        self.storesKeys = storesKeys
        self.replacesVariables = replacesVariables
        self.rules = rules
        names = rules.names(of: named.text.utf8)
        reference = EdgeReference(key: try SiteKey(named, rules))
        edits = choice.edits
        try read(without: choice.droppedLines)
        if playlist.isLive {
            let isOpen = bytes.last != ASCII.lineFeed
            edits.append(
                ManifestEdit(
                    text: (isOpen ? "\n" : "") + "#EXT-X-ENDLIST\n", bytes.count..<bytes.count))
        }
    }

    /// Returns the bytes to store; nil if they are the served ones.
    ///
    /// Throws `manifest.tooLarge`.
    func body() throws(Failure) -> [UInt8]? {
        edits.isEmpty ? nil : try edits.applied(to: bytes, of: base.url)
    }

    private mutating func read(without dropped: Set<Int32>) throws(Failure) {
        var line: Int32 = 0
        var start = bytes.starts(with: ASCII.byteOrderMark) ? 3 : 0
        while start < bytes.count {
            let end = ASCII.index(of: ASCII.lineFeed, in: bytes, from: start)
            let next = min(end + 1, bytes.count)
            let text = ASCII.trimmed(bytes, start..<end)
            line += 1
            if !text.isEmpty, dropped.isEmpty || !dropped.contains(line) {
                if bytes[text.lowerBound] != ASCII.hash {
                    // A gap's URI is not requested, so it may be invalid.
                    if isGap, replacesVariables || !usesVariables(text) { try? name(text) }
                    if !isGap { try name(text) }
                    isGap = false
                } else if ASCII.hasPrefix(bytes, text, "#EXT-X-") {
                    try tag(text, line: start..<next)
                }
            }
            try edits.check(upTo: start, of: base.url)
            start = next
        }
    }

    private mutating func tag(_ text: Range<Int>, line: Range<Int>) throws(Failure) {
        let colon = text.first { bytes[$0] == ASCII.colon } ?? text.upperBound
        let value = min(colon + 1, text.upperBound)..<text.upperBound
        let name = String(decoding: bytes[text.lowerBound..<colon], as: UTF8.self)
        switch name {
        case "#EXT-X-GAP": isGap = true
        case "#EXT-X-CONTENT-STEERING", "#EXT-X-PART", "#EXT-X-PRELOAD-HINT",
            "#EXT-X-RENDITION-REPORT", "#EXT-X-PART-INF":
            edits.append(ManifestEdit(line))
        case "#EXT-X-I-FRAME-STREAM-INF", "#EXT-X-IMAGE-STREAM-INF", "#EXT-X-MEDIA", "#EXT-X-MAP",
            "#EXT-X-SESSION-DATA":
            guard let uri = attributes(value)?["URI"] else { return }
            try self.name(uri.value)
        case "#EXT-X-KEY", "#EXT-X-SESSION-KEY":
            guard let attributes = attributes(value), !attributes.has("METHOD", "NONE"),
                attributes["KEYFORMAT"] == nil || attributes.has("KEYFORMAT", "identity"),
                let uri = attributes["URI"]
            else { return }
            try self.name(uri.value, isStored: storesKeys)
        case "#EXT-X-DEFINE":
            guard let name = attributes(value)?["QUERYPARAM"] else { return }
            let text = String(decoding: bytes[name.value], as: UTF8.self)
            let isSecret = SignedQuery.isSecret(
                Array(text.utf8)[...], rules.names(of: base.bytes))
            if isSecret { hidesVariables = true }
            let value = isSecret ? "" : variables[text] ?? ""
            // A quoted string may contain neither quotes nor line ends.
            guard !value.utf8.contains(where: { $0 == ASCII.quote || ASCII.isControl($0) }) else {
                throw Failure(
                    .manifestMalformed, at: .manifest("\(base.url)"),
                    "the value of the query parameter \(Redaction.shown(text)) is not "
                        + "allowed in a playlist")
            }
            edits.append(
                ManifestEdit(text: "#EXT-X-DEFINE:NAME=\"\(text)\",VALUE=\"\(value)\"\n", line))
        default: break
        }
    }

    private func attributes(_ value: Range<Int>) -> HLSAttributes? {
        try? HLSAttributes(bytes, value)
    }

    /// Rewrites a URI if it does not lead to its stored object.
    private mutating func name(_ text: Range<Int>, isStored: Bool = true) throws(Failure) {
        var source = bytes
        var range = text
        if usesVariables(text) {
            source = substituted(text)
            range = 0..<source.count
        }
        let isReplaced = (replacesVariables || hidesVariables) && usesVariables(text)
        if isStored, !isReplaced, EdgeReference.isPlain(source, range, at: namingBase, names) {
            return
        }
        do throws(WebURLError) {
            guard isStored else {
                let url = try base.resolve(source, range).text
                if !bytes[text].elementsEqual(url.utf8) {
                    edits.append(ManifestEdit(text, [UInt8](url.utf8)))
                }
                return
            }
            let key: SiteKey
            let url = try namingBase.resolve(source, range)
            do throws(Failure) { key = try SiteKey(url, rules) } catch { return }
            if !isReplaced, reference.leads(source, range, to: key) { return }
            edits.append(ManifestEdit(text, reference.path(to: key)))
        } catch {
            throw Failure(error.rejection, at: .manifest("\(base.url)"), "the URI \(error.detail)")
        }
    }

    private func usesVariables(_ text: Range<Int>) -> Bool {
        zip(text, text.dropFirst()).contains {
            bytes[$0] == ASCII.openBrace && bytes[$1] == ASCII.dollar
        }
    }

    /// Returns a URI with the values of its variables; of one that is too long for a URL, the
    /// beginning, which is too long as well.
    private func substituted(_ text: Range<Int>) -> [UInt8] {
        var out: [UInt8] = []
        var index = text.lowerBound
        let lastClose = bytes[text].lastIndex(of: ASCII.closeBrace) ?? text.lowerBound
        while index < text.upperBound, out.count <= WireLimits.urlBytes {
            if bytes[index] == ASCII.openBrace, index < lastClose,
                bytes[index + 1] == ASCII.dollar,
                let close = bytes[index..<text.upperBound].firstIndex(of: ASCII.closeBrace),
                let value = variables[String(decoding: bytes[(index + 2)..<close], as: UTF8.self)]
            {
                out += value.utf8
                index = close + 1
            } else {
                out.append(bytes[index])
                index += 1
            }
        }
        return out
    }
}

extension ManifestEdit {
    fileprivate init(text: String, _ range: Range<Int>) { self.init(range, [UInt8](text.utf8)) }
}
