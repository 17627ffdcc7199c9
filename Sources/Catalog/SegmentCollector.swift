import Model

/// Gathers the objects of a title under their keys: each once.
struct SegmentCollector {
    private(set) var segments = ResolvedSegments()
    /// Each key's place in `segments`, by 64 bits of keyed hash, new with each process: see
    /// `ManifestListing`.
    private var places: [Int: UInt32] = [:]
    private let manifests: Set<WebURL>
    /// The title's own.
    private let title: WebURL?
    /// What was added last; its line is of no account.
    private var last: (reference: ManifestReference, role: SegmentRole)?

    /// - Parameter manifests: the title's own, which nothing else may be, the one to play first.
    init(manifests references: [ManifestReference]) {
        manifests = Set(references.map(\.keyURL))
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
        if manifests.contains(reference.keyURL) {
            throw Failure(
                "manifest.malformed", "\(reference.url): a manifest is listed as a segment")
        }
        try insert(reference, segment.role, nil, mirrors: segment.mirrors)
        last = (reference, segment.role)
    }

    /// Adds a manifest that was read, with what is to lie at the edge in its place, if anything is: the
    /// length and digest of that are for others to add.
    mutating func add(
        _ manifest: ManifestReference, bytes: Int64, sha256: String, content: [UInt8]? = nil
    ) throws(Failure) {
        var known = ResolvedSegments.Known(bytes: bytes, sha256: sha256)
        guard let content else { return try insert(manifest, .playlist, known) }
        guard content.count <= WireLimits.documentBytes else {
            throw Failure(
                "manifest.tooLarge",
                "\(manifest.url): what is to be changed in it for the edge makes \(content.count) bytes; "
                    + "\(WireLimits.documentBytes) are taken")
        }
        guard let text = String(validating: content, as: UTF8.self), !content.contains(0) else {
            throw Failure(
                "manifest.malformed", "\(manifest.url): a manifest is UTF-8 without NUL characters")
        }
        known.content = text
        try insert(manifest, .playlist, known)
    }

    private mutating func insert(
        _ reference: ManifestReference, _ role: SegmentRole, _ known: ResolvedSegments.Known?,
        mirrors: [WebURL] = []
    ) throws(Failure) {
        let hash = Self.hash(try SiteKey(reference.keyURL).text)
        if let found = places[hash] {
            let place = Int(found)
            let other = segments.url(at: place)
            guard other != reference.url else {
                // A file with its initialization section at its head is as large as media is.
                if role.maximumBytes > segments.role(at: place).maximumBytes {
                    segments.set(role, at: place)
                }
                return
            }
            throw Failure(
                "storage.pathConflict",
                "\(reference.url) and \(other) would both be stored as "
                    + Redaction.shown(segments.key(at: place)))
        }
        places[hash] = UInt32(clamping: segments.count)
        segments.append(reference, role, mirrors: mirrors)
        if let known { segments.set(known, at: segments.count - 1) }
        guard segments.urlBytes <= WireLimits.urlBytesPerAsset else {
            throw Failure(
                "manifest.tooMany",
                "\(title ?? reference.url): the URLs of the title's first \(segments.count) objects come "
                    + "to \(segments.urlBytes) bytes; \(WireLimits.urlBytesPerAsset) are taken of "
                    + "all")
        }
    }

    private static func hash(_ key: String) -> Int {
        var hasher = Hasher()
        forEachFolder(of: key, &hasher) { _ in true }
        return hasher.finalize()
    }

    /// Hashes a key component after component; `body` gets what each folder on the way has come to, and ends it by
    /// answering false.
    private static func forEachFolder(
        of key: String, _ hasher: inout Hasher, _ body: (Hasher) -> Bool
    ) {
        var key = key
        key.withUTF8 { key in
            var rest = UnsafeRawBufferPointer(key)
            while let slash = rest.firstIndex(of: ASCII.slash) {
                hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: rest[..<slash]))
                guard body(hasher) else { return }
                hasher.combine(ASCII.slash)
                rest = UnsafeRawBufferPointer(rebasing: rest[(slash + 1)...])
            }
            hasher.combine(bytes: rest)
        }
    }

    /// Refuses a key that is the folder of another.
    func checkFolders() throws(Failure) {
        var before: WebURL?
        for place in segments.indices {
            // Most lie in the folder of the one before.
            let url = segments.keyURL(at: place)
            defer { before = url }
            if let before, url.sharesFolder(with: before) { continue }
            guard let file = firstFolder(of: segments.key(at: place)) else { continue }
            throw Failure(
                "storage.pathConflict",
                "\(segments.url(at: file)) is a file, and "
                    + "\(segments.url(at: place)) wants a folder of that name")
        }
    }

    /// The place of what has the name of the first of a key's folders that something has.
    private func firstFolder(of key: String) -> Int? {
        var hasher = Hasher()
        var found: UInt32?
        Self.forEachFolder(of: key, &hasher) { folder in
            found = places[folder.finalize()]
            return found == nil
        }
        return found.map { Int($0) }
    }
}
