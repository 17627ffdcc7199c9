import Model
import Text
import WebURL

/// An HLS playlist as it is to lie at the edge.
///
/// As it was served, where a player finds there what it names. Otherwise with these changes and no other:
/// URIs become relative paths to what is stored; what is not wanted goes; keys that are not stored are
/// named by their whole URLs; what would lead a player away from the edge, or to what an ended playlist's
/// title has not stored, goes (content steering, partial segments, preload hints, rendition reports); a
/// variable from the query of the playlist's URL is given its value; a live playlist that is taken for what
/// it lists has ended.
struct HLSEdge {
    private let bytes: [UInt8]
    private let base: ReferenceBase
    private let namingBase: ReferenceBase
    private let variables: [String: String]
    private let storesKeys: Bool
    private let place: EdgeReference
    private let rules: KeyQueryRules
    /// For references that lead to the origin of `namingBase`.
    private let names: KeyQueryRules.Names
    private var edits: ManifestEdits
    /// The segment that is still to come is a gap.
    private var isGap = false
    /// A variable holds a token of the playlist's own URL, which is not to lie at the edge.
    private var hidesVariables = false

    /// - Parameters:
    ///   - playlist: what was read from `bytes`.
    ///   - url: where it came from in the end.
    ///   - named: the URL whose key it lies under.
    ///   - choice: which of its tracks are left.
    ///   - storesKeys: false where keys are left with the origin.
    ///   - rules: which query parameters belong to keys.
    init(
        _ playlist: HLSPlaylist, _ bytes: [UInt8], url: WebURL, named: WebURL,
        choice: HLSTracks.Choice = HLSTracks.Choice(), storesKeys: Bool = true,
        rules: KeyQueryRules = KeyQueryRules()
    ) throws(Failure) {
        self.bytes = bytes
        base = ReferenceBase(url)
        namingBase = ReferenceBase(named)
        variables = playlist.variables
        self.storesKeys = storesKeys
        self.rules = rules
        names = rules.names(of: named.text.utf8)
        place = EdgeReference(key: try SiteKey(named, rules))
        edits = choice.edits
        try read(without: choice.droppedLines)
        if playlist.isLive {
            let isOpen = bytes.last != ASCII.lineFeed
            edits.append(
                ManifestEdit(
                    text: (isOpen ? "\n" : "") + "#EXT-X-ENDLIST\n", bytes.count..<bytes.count))
        }
    }

    /// The bytes to store; nil for those that were served.
    ///
    /// Fails with `manifest.tooLarge`.
    func body() throws(Failure) -> [UInt8]? {
        edits.isEmpty ? nil : try edits.applied(to: bytes, of: base.url)
    }

    private mutating func read(without dropped: Set<Int32>) throws(Failure) {
        var line: Int32 = 0
        var start = bytes.starts(with: ASCII.byteOrderMark) ? 3 : 0
        while start < bytes.count {
            let end = ASCII.place(of: ASCII.lineFeed, in: bytes, from: start)
            let next = min(end + 1, bytes.count)
            let text = ASCII.trimmed(bytes, start..<end)
            line += 1
            if !text.isEmpty, dropped.isEmpty || !dropped.contains(line) {
                if bytes[text.lowerBound] != ASCII.hash {
                    // What nobody should ask for need not be what can be asked for.
                    if isGap, !usesVariables(text) { try? name(text) }
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
            // A quoted string holds no quote and no line's end.
            guard !value.utf8.contains(where: { $0 == ASCII.quote || ASCII.isControl($0) }) else {
                throw Failure(
                    "manifest.malformed",
                    "\(base.url): the value of the query parameter \(Redaction.shown(text)) cannot "
                        + "stand in a playlist")
            }
            edits.append(
                ManifestEdit(text: "#EXT-X-DEFINE:NAME=\"\(text)\",VALUE=\"\(value)\"\n", line))
        default: break
        }
    }

    private func attributes(_ value: Range<Int>) -> HLSAttributes? {
        try? HLSAttributes(bytes, value)
    }

    /// Sees to it that the URI leads to what it names.
    private mutating func name(_ text: Range<Int>, isStored: Bool = true) throws(Failure) {
        var source = bytes
        var range = text
        if usesVariables(text) {
            source = substituted(text)
            range = 0..<source.count
        }
        let isHidden = hidesVariables && usesVariables(text)
        if isStored, !isHidden, EdgeReference.isPlain(source, range, at: namingBase, names) {
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
            if !isHidden, place.leads(source, range, to: key) { return }
            edits.append(ManifestEdit(text, place.path(to: key)))
        } catch {
            throw Failure(error.refusal, "\(base.url): the URI \(error.detail)")
        }
    }

    private func usesVariables(_ text: Range<Int>) -> Bool {
        zip(text, text.dropFirst()).contains {
            bytes[$0] == ASCII.openBrace && bytes[$1] == ASCII.dollar
        }
    }

    private func substituted(_ text: Range<Int>) -> [UInt8] {
        var out: [UInt8] = []
        var index = text.lowerBound
        let lastClose = bytes[text].lastIndex(of: ASCII.closeBrace) ?? text.lowerBound
        while index < text.upperBound {
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
