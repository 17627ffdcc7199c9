import Model
import Text
import WebURL

/// Collects the objects of a title by key, each once.
struct SegmentCollector {
    private(set) var segments: ResolvedSegments
    private let rules: KeyQueryRules
    /// Index in `segments` by 64-bit keyed hash of the key, new in each process: see
    /// `ManifestListing`.
    private var keyIndex = HashIndex()
    private let manifests: Set<WebURL>
    /// Hashes of the manifests' keys.
    private let manifestHashes: Set<Int>
    /// URL of the title's manifest.
    private let title: WebURL?
    /// The last added object; its line does not matter.
    private var last: (reference: ManifestReference, role: SegmentRole)?
    // Reused buffers, as there may be a million objects.
    private var url: [UInt8] = []
    private var key: [UInt8] = []
    private var other: [UInt8] = []
    /// Folder of the last key with its slash, its hash, and true if nothing was added since it
    /// changed.
    private var folder: [UInt8] = []
    private var folderHash = Hasher()
    private var folderIsNew = true
    /// First object added after each change of folder.
    private var folderIndexes: [UInt32] = []

    /// Creates a collector.
    ///
    /// - Parameters:
    ///   - manifests: the title's manifests, whose URLs no other object may have; the one to play
    ///     first.
    ///   - expected: expected number of objects with their own URLs, or slightly more.
    ///   - rules: the query parameters that belong to keys.
    init(
        manifests references: [ManifestReference], expected: Int = 0,
        rules: KeyQueryRules = KeyQueryRules()
    ) {
        self.rules = rules
        segments = ResolvedSegments(rules)
        let most = min(expected, WireLimits.segmentsPerAsset) + references.count
        keyIndex.reserve(most)
        segments.reserve(most)
        manifests = Set(references.map(\.keyURL))
        // A manifest without a key is rejected when it is added.
        manifestHashes = Set(
            manifests.compactMap { try? SiteKey($0, rules) }.map { key in
                var hasher = Hasher()
                Self.forEachFolder(of: Array(key.text.utf8), &hasher) { _ in true }
                return hasher.finalize()
            })
        title = references.first?.url
    }

    /// Adds the object of a segment.
    mutating func add(_ segment: ManifestSegment) throws(Failure) {
        let reference = segment.reference
        // Byte ranges of one object are adjacent.
        if let last, last.role == segment.role, last.reference.url == reference.url,
            last.reference.named == reference.named
        {
            return
        }
        try insert(reference, segment.role, nil, mirrors: segment.mirrors)
        last = (reference, segment.role)
    }

    /// Adds the object of a plain reference without a query: see `ReferenceBase`.
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
        guard let found = keyIndex.insert(hash) else {
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

    /// The URL in `url`, without a query.
    private var writtenURL: WebURL {
        WebURL(normalised: String(decoding: url, as: UTF8.self), queryStart: url.count)
    }

    /// Adds the objects of all segments of a manifest.
    mutating func add(_ all: ManifestSegments) throws(Failure) {
        let urls = all.urls
        let table = segments.add(urls)
        try all.forEachObject { (object) throws(Failure) in
            let named = object.url + (object.isNamed ? 1 : 0)
            urls.copy(named, into: &url)
            try SiteKey.write(url, queryStart: urls.queryStart(at: named), rules, into: &key)
            let hash = hashKey()
            if manifestHashes.contains(hash), manifests.contains(urls[named]) {
                throw Self.namesManifest(urls[object.url])
            }
            guard let found = keyIndex.insert(hash) else {
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

    /// Adds a manifest with its rewritten content for the edge, if any; the caller sets the length
    /// and digest of that.
    mutating func add(
        _ manifest: ManifestReference, bytes: Int64, sha256: String, content: [UInt8]? = nil
    ) throws(Failure) {
        var known = ResolvedSegments.Known(bytes: bytes, sha256: sha256)
        guard let content else { return try insert(manifest, .playlist, known) }
        guard let text = String(validating: content, as: UTF8.self), !content.contains(0) else {
            throw Failure(
                .manifestMalformed, at: .manifest("\(manifest.url)"),
                "a manifest must be UTF-8 without NUL characters")
        }
        known.content = text
        try insert(manifest, .playlist, known)
    }

    /// Adds an object under its key.
    ///
    /// - Parameter known: attributes of a manifest.
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
        if let found = keyIndex.insert(hash) {
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

    /// A file that starts with its initialization section may be as large as media.
    private mutating func widen(_ role: SegmentRole, at index: Int) {
        guard role.maximumBytes > segments.role(at: index).maximumBytes else { return }
        segments.set(role, at: index)
    }

    private func checkSize(_ url: @autoclosure () -> WebURL) throws(Failure) {
        guard segments.urlBytes > WireLimits.urlBytesPerAsset else { return }
        throw Failure(
            .manifestTooMany, at: .manifest("\(title ?? url())"),
            "the URLs of the title's first \(segments.count) objects "
                + "total \(segments.urlBytes) bytes; at most "
                + "\(WireLimits.urlBytesPerAsset) are allowed")
    }

    private static func namesManifest(_ url: WebURL) -> Failure {
        Failure(.manifestMalformed, at: .manifest("\(url)"), "a manifest is listed as a segment")
    }

    private func conflict(_ url: WebURL, with index: Int) -> Failure {
        Failure(
            .storagePathConflict,
            "\(url) and \(segments.url(at: index)) would both be stored as "
                + Redaction.shown(segments.key(at: index)))
    }

    /// Hashes `key`. Most keys are in the folder of the previous one.
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

    /// Hashes a key component by component. `body` gets the hash of each folder and returns false
    /// to stop.
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

    /// Records the folder of the last added object.
    private mutating func noteFolder() {
        if folderIsNew { folderIndexes.append(UInt32(clamping: segments.count - 1)) }
        folderIsNew = false
    }

    /// Throws if a key is the folder of another.
    mutating func checkFolders() throws(Failure) {
        for index in folderIndexes.lazy.map({ Int($0) }) {
            let queryStart = segments.copyKeyURL(at: index, into: &url)
            try SiteKey.write(url, queryStart: queryStart, rules, into: &key)
            guard let file = firstFolder(of: key) else { continue }
            throw Failure(
                .storagePathConflict,
                "\(segments.url(at: file)) is a file, and "
                    + "\(segments.url(at: index)) needs a folder of that name")
        }
    }

    /// Returns the index of the object whose key equals a folder of the given key.
    private func firstFolder(of key: [UInt8]) -> Int? {
        var hasher = Hasher()
        var found: Int?
        Self.forEachFolder(of: key, &hasher) { folder in
            found = keyIndex[folder.finalize()]
            return found == nil
        }
        return found
    }
}
