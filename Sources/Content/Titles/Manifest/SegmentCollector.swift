import Model
import Text
import WebURL

/// Gathers the objects of a title under their keys: each once.
struct SegmentCollector {
    private(set) var segments: ResolvedSegments
    private let rules: KeyQueryRules
    /// Each key's place in `segments`, by 64 bits of keyed hash, new with each process: see
    /// `ManifestListing`.
    private var places = PlaceTable()
    private let manifests: Set<WebURL>
    /// Of their keys.
    private let manifestHashes: Set<Int>
    /// The title's own.
    private let title: WebURL?
    /// What was added last; its line is of no account.
    private var last: (reference: ManifestReference, role: SegmentRole)?
    // Used again for each, as there may be a million.
    private var url: [UInt8] = []
    private var key: [UInt8] = []
    private var other: [UInt8] = []
    /// The key that came last up to its last slash, what that is hashed to, and whether nothing was added since
    /// it became another.
    private var folder: [UInt8] = []
    private var folderHash = Hasher()
    private var folderIsNew = true
    /// The first that was added in each folder that came behind another.
    private var folderPlaces: [UInt32] = []

    /// - Parameters:
    ///   - manifests: the title's own, which nothing else may be, the one to play first.
    ///   - expected: how many objects with URLs of their own are to come, or a few more.
    ///   - rules: which query parameters belong to keys.
    init(
        manifests references: [ManifestReference], expected: Int = 0,
        rules: KeyQueryRules = KeyQueryRules()
    ) {
        self.rules = rules
        segments = ResolvedSegments(rules)
        let most = min(expected, WireLimits.segmentsPerAsset) + references.count
        places.reserve(most)
        segments.reserve(most)
        manifests = Set(references.map(\.keyURL))
        // One without a key is refused when it is added.
        manifestHashes = Set(
            manifests.compactMap { try? SiteKey($0, rules) }.map { key in
                var hasher = Hasher()
                Self.forEachFolder(of: Array(key.text.utf8), &hasher) { _ in true }
                return hasher.finalize()
            })
        title = references.first?.url
    }

    /// Adds the object that a segment is all or a part of.
    mutating func add(_ segment: ManifestSegment) throws(Failure) {
        let reference = segment.reference
        // Byte ranges of one object follow one another.
        if let last, last.role == segment.role, last.reference.url == reference.url,
            last.reference.named == reference.named
        {
            return
        }
        try insert(reference, segment.role, nil, mirrors: segment.mirrors)
        last = (reference, segment.role)
    }

    /// Adds the object that a plain reference without a query leads to: see `ReferenceBase`.
    mutating func add(
        _ reference: [UInt8], at base: ReferenceBase, _ role: SegmentRole
    ) throws(Failure) {
        last = nil
        url.removeAll(keepingCapacity: true)
        url += base.folder
        url += reference
        try SiteKey.write(url, queryStart: url.count, rules, into: &key)
        let hash = hashKey()
        if manifestHashes.contains(hash), manifests.contains(writtenURL) {
            throw Self.namesManifest(writtenURL)
        }
        guard let found = places.insert(hash) else {
            segments.append(reference, at: base, role)
            noteFolder()
            return try checkSize(writtenURL)
        }
        segments.copyURL(at: found, into: &other)
        guard SignedQuery.isSameObject(url, other, rules) else {
            throw conflict(writtenURL, with: found)
        }
        widen(role, at: found)
    }

    /// What `url` holds, without a query.
    private var writtenURL: WebURL {
        WebURL(normalised: String(decoding: url, as: UTF8.self), queryStart: url.count)
    }

    /// Adds the objects of all segments of a manifest.
    mutating func add(_ all: ManifestSegments) throws(Failure) {
        let urls = all.urls
        let table = segments.adopt(urls)
        try all.forEachObject { (object) throws(Failure) in
            let named = object.url + (object.isNamed ? 1 : 0)
            urls.copy(named, into: &url)
            try SiteKey.write(url, queryStart: urls.queryStart(at: named), rules, into: &key)
            let hash = hashKey()
            if manifestHashes.contains(hash), manifests.contains(urls[named]) {
                throw Self.namesManifest(urls[object.url])
            }
            guard let found = places.insert(hash) else {
                segments.append(object, in: table)
                noteFolder()
                return try checkSize(urls[object.url])
            }
            if object.isNamed { urls.copy(object.url, into: &url) }
            segments.copyURL(at: found, into: &other)
            guard SignedQuery.isSameObject(url, other, rules) else {
                throw conflict(urls[object.url], with: found)
            }
            widen(object.role, at: found)
        }
    }

    /// Adds a manifest that was read, with what is to lie at the edge in its place, if anything is: the
    /// length and digest of that are for others to add.
    mutating func add(
        _ manifest: ManifestReference, bytes: Int64, sha256: String, content: [UInt8]? = nil
    ) throws(Failure) {
        var known = ResolvedSegments.Known(bytes: bytes, sha256: sha256)
        guard let content else { return try insert(manifest, .playlist, known) }
        guard let text = String(validating: content, as: UTF8.self), !content.contains(0) else {
            throw Failure(
                "manifest.malformed", "\(manifest.url): a manifest is UTF-8 without NUL characters")
        }
        known.content = text
        try insert(manifest, .playlist, known)
    }

    /// - Parameter known: of a manifest.
    private mutating func insert(
        _ reference: ManifestReference, _ role: SegmentRole, _ known: ResolvedSegments.Known?,
        mirrors: [WebURL] = []
    ) throws(Failure) {
        let keyURL = reference.keyURL
        url.removeAll(keepingCapacity: true)
        url += keyURL.text.utf8
        try SiteKey.write(url, queryStart: keyURL.queryStart, rules, into: &key)
        let hash = hashKey()
        if known == nil, manifestHashes.contains(hash), manifests.contains(keyURL) {
            throw Self.namesManifest(reference.url)
        }
        if let found = places.insert(hash) {
            segments.copyURL(at: found, into: &other)
            guard SignedQuery.isSameObject(other, Array(reference.url.text.utf8), rules)
            else {
                throw conflict(reference.url, with: found)
            }
            return widen(role, at: found)
        }
        segments.append(reference, role, mirrors: mirrors)
        noteFolder()
        if let known { segments.set(known, at: segments.count - 1) }
        try checkSize(reference.url)
    }

    /// A file with its initialization section at its head is as large as media is.
    private mutating func widen(_ role: SegmentRole, at place: Int) {
        guard role.maximumBytes > segments.role(at: place).maximumBytes else { return }
        segments.set(role, at: place)
    }

    private func checkSize(_ url: @autoclosure () -> WebURL) throws(Failure) {
        guard segments.urlBytes > WireLimits.urlBytesPerAsset else { return }
        throw Failure(
            "manifest.tooMany",
            "\(title ?? url()): the URLs of the title's first \(segments.count) objects come "
                + "to \(segments.urlBytes) bytes; \(WireLimits.urlBytesPerAsset) are taken of all")
    }

    private static func namesManifest(_ url: WebURL) -> Failure {
        Failure("manifest.malformed", "\(url): a manifest is listed as a segment")
    }

    private func conflict(_ url: WebURL, with place: Int) -> Failure {
        Failure(
            "storage.pathConflict",
            "\(url) and \(segments.url(at: place)) would both be stored as "
                + Redaction.shown(segments.key(at: place)))
    }

    /// The hash of `key`. Most lie in the folder of the one before.
    private mutating func hashKey() -> Int {
        let end = key.lastIndex(of: ASCII.slash).map { $0 + 1 } ?? 0
        if !folder.elementsEqual(key[..<end]) {
            folder.removeAll(keepingCapacity: true)
            folder += key[..<end]
            folderHash = Hasher()
            Self.forEachFolder(of: folder, &folderHash) { _ in true }
            folderIsNew = true
        }
        var hasher = folderHash
        key.withUnsafeBytes { hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[end...])) }
        return hasher.finalize()
    }

    /// Hashes a key component after component; `body` gets what each folder on the way has come to, and ends it by
    /// answering false.
    private static func forEachFolder(
        of key: [UInt8], _ hasher: inout Hasher, _ body: (Hasher) -> Bool
    ) {
        key.withUnsafeBytes { key in
            var rest = UnsafeRawBufferPointer(rebasing: key[...])
            while let slash = rest.firstIndex(of: ASCII.slash) {
                hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: rest[..<slash]))
                guard body(hasher) else { return }
                hasher.combine(ASCII.slash)
                rest = UnsafeRawBufferPointer(rebasing: rest[(slash + 1)...])
            }
            if !rest.isEmpty { hasher.combine(bytes: rest) }
        }
    }

    /// Takes note of where what was added last lies.
    private mutating func noteFolder() {
        if folderIsNew { folderPlaces.append(UInt32(clamping: segments.count - 1)) }
        folderIsNew = false
    }

    /// Refuses a key that is the folder of another.
    mutating func checkFolders() throws(Failure) {
        for place in folderPlaces.lazy.map({ Int($0) }) {
            let queryStart = segments.copyKeyURL(at: place, into: &url)
            try SiteKey.write(url, queryStart: queryStart, rules, into: &key)
            guard let file = firstFolder(of: key) else { continue }
            throw Failure(
                "storage.pathConflict",
                "\(segments.url(at: file)) is a file, and "
                    + "\(segments.url(at: place)) wants a folder of that name")
        }
    }

    /// The place of what has the name of the first of a key's folders that something has.
    private func firstFolder(of key: [UInt8]) -> Int? {
        var hasher = Hasher()
        var found: Int?
        Self.forEachFolder(of: key, &hasher) { folder in
            found = places[folder.finalize()]
            return found == nil
        }
        return found
    }
}
