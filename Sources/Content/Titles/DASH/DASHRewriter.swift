import Model
import Text
import WebURL

/// Rewrites an MPD for the edge.
///
/// The MPD stays as served if a player finds its references at the edge. Otherwise only these
/// changes are made. BaseURLs, templates and segment URLs that are absolute, begin at the root or
/// lead to another host become relative paths to stored objects. Queries are replaced by those of
/// the file names. Alternatives of a BaseURL are removed, as only one is stored. So are unselected
/// tracks, and references elsewhere (Location, PatchLocation, ContentSteering).
struct DASHRewriter {
    private static let names = [
        "MPD", "Period", "AdaptationSet", "Representation", "BaseURL", "SegmentTemplate",
        "Initialization", "RepresentationIndex", "BitstreamSwitching", "SegmentList", "SegmentBase",
        "Location", "PatchLocation", "ContentSteering",
    ]

    /// The first two belong to SegmentURL, all but the last to SegmentTemplate, the last to the
    /// others.
    private static let attributes = [
        "media", "index", "initialization", "bitstreamSwitching", "sourceURL",
    ]

    private let bytes: [UInt8]
    private let elements: MarkupScanner
    private var edits = ManifestEdits()
    /// By element of a level, the base of references in it, by the manifest's name.
    private var bases: [Int: WebURL] = [:]
    private let manifest: WebURL
    /// Removed elements and their descendants.
    private var dropped: Set<Int> = []
    /// By level, its first BaseURL, which is the effective one, wherever it is in the level.
    private var firstBases: [Int: Int] = [:]
    /// Levels with a BaseURL in a level below.
    private var outerLevels: Set<Int> = []
    /// Bytes of references resolved so far.
    private var looked = 0
    private let rules: KeyQueryRules
    /// References from the last base.
    private var last: (base: ReferenceBase, reference: EdgeReference)?

    /// Rewrites an MPD.
    ///
    /// - Parameters:
    ///   - bytes: an MPD that `DASHManifest.parse` has accepted.
    ///   - named: the URL of its key.
    ///   - wanted: for each of its representations, in order, true if it is selected.
    ///   - rules: the query parameters that belong to keys.
    init(
        _ bytes: [UInt8], named: WebURL, wanted: [Bool], rules: KeyQueryRules = KeyQueryRules()
    ) throws(Failure) {
        self.bytes = bytes
        self.rules = rules
        let hasRules = !rules.isEmpty
        manifest = named
        // Lists may have a million segments, nearly all with relative paths.
        elements = MarkupScanner(
            bytes, Self.names, attributes: Self.attributes,
            leaf: ("SegmentURL", { Self.mayMiss($0, hasRules: hasRules) }))
        try drop(wanted)
        for number in elements.indices where elements[number].name == "BaseURL" {
            let element = elements[number]
            guard element.parent >= 0 else { continue }
            if firstBases[element.parent] == nil { firstBases[element.parent] = number }
            var index = elements[element.parent].parent
            while index >= 0, outerLevels.insert(index).inserted { index = elements[index].parent }
        }
        // An element comes after its parent.
        for index in elements.indices {
            if isInDropped(elements[index].parent) { dropped.insert(index) }
            if dropped.contains(index) { continue }
            try read(index)
            try edits.check(upTo: elements[index].bytes.lowerBound, of: manifest)
        }
        for value in elements.leafValues where !isInDropped(value.parent) {
            try name(value.range, in: value.parent)
            try edits.check(upTo: value.range.lowerBound, of: manifest)
        }
    }

    /// Returns the bytes to store; nil if they are the served ones.
    ///
    /// Throws `manifest.tooLarge`.
    func body() throws(Failure) -> [UInt8]? {
        edits.isEmpty ? nil : try edits.applied(to: bytes, of: manifest)
    }

    // MARK: Removals

    private mutating func drop(_ wanted: [Bool]) throws(Failure) {
        guard wanted.contains(false) else { return }
        guard elements.count(where: { $0.name == "Representation" }) == wanted.count else {
            throw Failure(
                .manifestUnsupported,
                "\(manifest): an MPD with ignored parts cannot be reduced to fewer tracks"
            )
        }
        var number = 0
        var left: [Int: Int] = [:]
        for (index, element) in elements.enumerated() where element.name == "Representation" {
            left[element.parent, default: 0] += wanted[number] ? 1 : 0
            if !wanted[number] { drop(index) }
            number += 1
        }
        for (index, count) in left where count == 0 { drop(index) }
    }

    private mutating func drop(_ index: Int) {
        guard dropped.insert(index).inserted else { return }
        edits.append(ManifestEdit(elements[index].bytes))
    }

    private func isInDropped(_ parent: Int) -> Bool {
        !dropped.isEmpty && dropped.contains(parent)
    }

    // MARK: Rewriting

    private mutating func read(_ index: Int) throws(Failure) {
        let element = elements[index]
        switch element.name {
        case "MPD", "Period", "AdaptationSet", "Representation":
            bases[index] = bases[element.parent] ?? manifest
            if let first = firstBases[index] { try readBase(elements[first]) }
        case "BaseURL":
            // The others of a level are alternatives.
            if firstBases[element.parent] != index { edits.append(ManifestEdit(element.bytes)) }
        case "Location", "PatchLocation", "ContentSteering":
            edits.append(ManifestEdit(element.bytes))
        case "SegmentTemplate":
            for name in ["media", "index", "initialization", "bitstreamSwitching"] {
                if let value = element.attribute(name) {
                    try self.name(template: value, in: element.parent)
                }
            }
        default:
            if let value = element.attribute("sourceURL") { try name(value, in: element.parent) }
        }
    }

    /// Returns the level that an element's contents belong to.
    private func level(_ parent: Int) -> Int {
        var index = parent
        while index >= 0, bases[index] == nil { index = elements[index].parent }
        return index
    }

    private mutating func readBase(_ element: MarkupScanner.Element) throws(Failure) {
        let level = element.parent
        let outer = bases[level] ?? manifest
        guard !bytes[element.content].contains(ASCII.less) else {
            throw Failure(
                .manifestUnsupported, "\(manifest): a BaseURL has a comment or a CDATA section")
        }
        let range = ASCII.trimmed(bytes, trimmedLines(element.content))
        let text = try plain(range)
        let reference = try reference(from: outer)
        let base = try resolved(text, against: outer)
        bases[level] = base
        if reference.leads(text, text.indices, to: try SiteKey(base, rules)) { return }
        edits.append(ManifestEdit(range, escaped(try path(to: base, from: reference))))
    }

    /// Rewrites a URL if it does not lead to its stored object.
    private mutating func name(_ value: Range<Int>, in parent: Int) throws(Failure) {
        let value = trimmedLines(value)
        guard Self.mayMiss(bytes[value], hasRules: !rules.isEmpty) else { return }
        let text = try plain(value)
        let level = level(parent)
        let base = bases[level] ?? manifest
        let reference = try reference(from: base)
        try look(at: text, from: base)
        let key = try SiteKey(try resolved(text, against: base), rules)
        if reference.leads(text, text.indices, to: key) { return }
        try checkStands(at: level)
        edits.append(ManifestEdit(value, escaped(reference.path(to: key))))
    }

    /// Rewrites a template if it does not lead to the stored objects.
    private mutating func name(template value: Range<Int>, in parent: Int) throws(Failure) {
        let value = trimmedLines(value)
        let given = try plain(value)
        let level = level(parent)
        let base = bases[level] ?? manifest
        let text = DASHTemplate.atEdge(given, rules.names(ofReference: given, at: base))
        // The text before the first identifier, up to its folder.
        let fixed = text.prefix { $0 != ASCII.dollar && $0 != ASCII.question }
        let folder = Array(fixed[..<(fixed.lastIndex(of: ASCII.slash).map { $0 + 1 } ?? 0)])
        let reference = try reference(from: base)
        try look(at: text, from: base)
        let end = try resolved(folder, against: base)
        let mayMiss =
            folder.starts(with: "..".utf8)
            || SignedPath.replacingTokens(folder[...], with: SignedPath.mark) != nil
        let folderKey = try SiteKey(end, rules)
        let isFound = !mayMiss || reference.leads(folder, folder.indices, to: folderKey)
        if isFound, !Self.leadsAway(text[...]) {
            if text != given { edits.append(ManifestEdit(value, escaped(text))) }
            return
        }
        try checkStands(at: level)
        let path = try path(to: end, from: reference)
        let rest = text[folder.count...]
        let isHere = path.elementsEqual("./".utf8) && !rest.contains(ASCII.colon)
        edits.append(ManifestEdit(value, escaped((isHere ? [] : path) + rest)))
    }

    /// Bounds the work, as many references may each be long.
    private mutating func look(at text: [UInt8], from base: WebURL) throws(Failure) {
        looked += base.text.utf8.count + text.count
        guard looked <= DASHManifest.maximumReferenceBytes else {
            throw Failure(
                .manifestTooMany,
                "\(manifest): its references to rewrite exceed "
                    + "\(DASHManifest.maximumReferenceBytes) bytes")
        }
    }

    /// Throws if a reference to rewrite applies to several bases.
    private func checkStands(at level: Int) throws(Failure) {
        guard outerLevels.contains(level) else { return }
        throw Failure(
            .manifestUnsupported,
            "\(manifest): a template or URL with another host, or with a query that cannot be a file name, "
                + "is above a BaseURL")
    }

    private mutating func reference(from base: WebURL) throws(Failure) -> EdgeReference {
        if let last, last.base.url == base { return last.reference }
        let reference = EdgeReference(key: try SiteKey(base, rules))
        last = (ReferenceBase(base), reference)
        return reference
    }

    /// Returns true if a reference may lead to another file than its object's. Most do not, and
    /// there may be a million.
    private static func mayMiss(_ text: ArraySlice<UInt8>, hasRules: Bool) -> Bool {
        guard text.count < SiteKey.queryNameBytes else { return true }
        // A slash at the start, a colon after a scheme, a dot of a dot segment, the hash of a
        // fragment or of a character reference.
        let isName = text.withUnsafeBufferPointer { bytes in
            bytes.first != ASCII.slash && bytes.first != ASCII.dot
                && bytes.allSatisfy {
                    $0 != ASCII.colon && $0 != ASCII.hash && $0 != ASCII.question
                        && $0 != ASCII.equals && $0 != ASCII.percent
                }
        }
        if isName { return false }
        if leadsAway(text) || text.starts(with: "..".utf8) || text.contains(ASCII.hash) {
            return true
        }
        let path = text.prefix { $0 != ASCII.question }
        if SignedPath.replacingTokens(path, with: SignedPath.mark) != nil { return true }
        guard let question = text.firstIndex(of: ASCII.question) else { return false }
        let query = text[question...].dropFirst()
        return !query.contains(ASCII.equals) || !query.allSatisfy { ASCII.isIn(.queryName, $0) }
            || hasRules || SignedQuery.withoutSecrets(query) != nil
            || text[..<question].last ?? ASCII.slash == ASCII.slash
    }

    /// Returns true for an absolute reference, or one that begins at the root.
    private static func leadsAway(_ text: ArraySlice<UInt8>) -> Bool {
        guard let first = text.first else { return false }
        if first == ASCII.slash { return true }
        let head = text.prefix { $0 != ASCII.slash && $0 != ASCII.question && $0 != ASCII.dollar }
        return head.count < text.count && head.last == ASCII.colon
    }

    /// Returns the relative path to a base: to its folder if it ends in a slash.
    private func path(to base: WebURL, from reference: EdgeReference) throws(Failure) -> [UInt8] {
        let path = reference.path(to: try SiteKey(base, rules))
        guard base.path.hasSuffix("/") else { return path }
        let index = Array("index.html".utf8)
        let folder =
            path.suffix(index.count).elementsEqual(index) ? path.dropLast(index.count) : path[...]
        return folder.isEmpty ? Array("./".utf8) : Array(folder)
    }

    private func resolved(_ text: [UInt8], against base: WebURL) throws(Failure) -> WebURL {
        do throws(WebURLError) {
            let known = last.flatMap { $0.base.url == base ? $0.base : nil }
            return try (known ?? ReferenceBase(base)).resolve(text, text.indices)
        } catch {
            throw Failure(
                error.rejection,
                "\(manifest): a URI \(error.detail), given \(Redaction.shown(text, text.indices))")
        }
    }

    // MARK: Text

    private func trimmedLines(_ range: Range<Int>) -> Range<Int> {
        var range = range
        while let first = range.first, bytes[first] <= ASCII.space { range = range.dropFirst() }
        while let last = range.last, bytes[last] <= ASCII.space { range = range.dropLast() }
        return range
    }

    private static let entities: [(StaticString, UInt8)] = [
        ("&amp;", 0x26), ("&lt;", 0x3C), ("&gt;", 0x3E), ("&quot;", 0x22), ("&apos;", 0x27),
    ]

    /// Returns a text with its escapes decoded.
    private func plain(_ range: Range<Int>) throws(Failure) -> [UInt8] {
        var out: [UInt8] = []
        var index = range.lowerBound
        while index < range.upperBound {
            guard bytes[index] == 0x26 else {
                out.append(bytes[index])
                index += 1
                continue
            }
            let rest = index..<range.upperBound
            guard let entity = Self.entities.first(where: { ASCII.hasPrefix(bytes, rest, $0.0) })
            else {
                throw Failure(
                    .manifestUnsupported,
                    "\(manifest): a URI has character references")
            }
            out.append(entity.1)
            index += entity.0.utf8CodeUnitCount
        }
        return out
    }

    private func escaped(_ text: [UInt8]) -> [UInt8] {
        text.flatMap { byte -> [UInt8] in
            Self.entities.first { $0.1 == byte }.map { entity in
                Array(
                    UnsafeBufferPointer(
                        start: entity.0.utf8Start, count: entity.0.utf8CodeUnitCount))
            } ?? [byte]
        }
    }
}
