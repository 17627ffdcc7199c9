import Model

/// Gathers the objects of a title under their keys: each once.
struct SegmentCollector {
    private(set) var segments: [ResolvedSegment] = []
    /// Each key's place in `segments`.
    private var places: [String: Int] = [:]
    private let manifests: Set<WebURL>
    /// What was added last; its line is of no account.
    private var last: (reference: ManifestReference, role: SegmentRole)?

    /// - Parameter manifests: the title's own, which nothing else may be.
    init(manifests references: [ManifestReference]) {
        manifests = Set(references.map(\.keyURL))
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
        try insert(reference, segment.role, bytes: nil, sha256: nil, mirrors: segment.mirrors)
        last = (reference, segment.role)
    }

    /// Adds a manifest that was read, with what is to lie at the edge in its place, if anything is: the
    /// length and digest of that are for others to add.
    mutating func add(
        _ manifest: ManifestReference, bytes: Int64, sha256: String, content: [UInt8]? = nil
    ) throws(Failure) {
        try insert(manifest, .playlist, bytes: bytes, sha256: sha256)
        guard let content else { return }
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
        guard let place = places[try SiteKey(manifest.keyURL).text] else { return }
        segments[place].content = text
    }

    private mutating func insert(
        _ reference: ManifestReference, _ role: SegmentRole, bytes: Int64?, sha256: String?,
        mirrors: [WebURL] = []
    ) throws(Failure) {
        let key = try SiteKey(reference.keyURL).text
        let url = reference.url.text
        if let place = places[key] {
            guard segments[place].url != url else {
                // A file with its initialization section at its head is as large as media is.
                if role.maximumBytes > segments[place].role.maximumBytes {
                    segments[place].role = role
                }
                return
            }
            throw Failure(
                "storage.pathConflict",
                "\(reference.url) and \(Redaction.shown(segments[place].url)) would both be stored "
                    + "as \(Redaction.shown(key))")
        }
        places[key] = segments.count
        var segment = ResolvedSegment(
            ordinal: segments.count, url: url, key: key, role: role, bytes: bytes, sha256: sha256)
        if !mirrors.isEmpty { segment.mirrors = mirrors.map(\.text) }
        segments.append(segment)
    }

    /// Refuses a key that is the folder of another.
    func checkFolders() throws(Failure) {
        var folders: Set<Substring> = []
        for segment in segments {
            var folder = segment.key[...]
            while let slash = folder.utf8.lastIndex(of: ASCII.slash) {
                folder = folder[..<slash]
                guard folders.insert(folder).inserted else { break }
                if let place = places[String(folder)] {
                    throw Failure(
                        "storage.pathConflict",
                        "\(Redaction.shown(segments[place].url)) is a file, and "
                            + "\(Redaction.shown(segment.url)) wants a folder of that name")
                }
            }
        }
    }
}
