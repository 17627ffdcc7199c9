import Model
import Storage

extension ResolvedSegment {
    /// Named by a manifest and read when it was resolved, unlike a list's sidecars.
    fileprivate var isManifest: Bool {
        role == .playlist && ordinal < WireLimits.segmentsPerAsset
    }

    /// The order of the switch: what is named before what names it.
    func rank(entry: String) -> Int {
        if key == entry { return .max }
        return isManifest ? WireLimits.segmentsPerAsset - ordinal : 0
    }
}

/// The files of an asset that is refreshed, as they are to be at the edge. A value.
struct RefreshChange: Sendable {
    struct File: Sendable {
        /// What it is by now.
        var segment: ResolvedSegment
        var digests: String?
        /// What was stored under its key, from its URL; nil for a new one.
        var stored: StoredObject?
        var validator: String?
        var isVerified: Bool
        var isOptional: Bool
        var isDocument: Bool
        /// What was stored lies there, as long as it was.
        var isThere: Bool
        /// It is to be asked for, or written.
        var isAsked = true
        /// What is known of it differs from what was known.
        var isNews = false

        init(_ file: RefreshFile, isThere: Bool) {
            segment = file.segment
            digests = file.digests
            stored = file.stored
            validator = file.validator
            isVerified = file.verified ?? false
            isOptional = file.isOptional ?? false
            isDocument = file.isDocument ?? false
            self.isThere = isThere
        }

        /// One that a manifest lists, in place of `known`, which has its key and its URL.
        init(_ segment: ResolvedSegment, known: File?) {
            self.segment = segment
            stored = known?.stored
            validator = known?.validator
            isVerified = known?.isVerified ?? false
            isOptional = false
            isDocument = segment.content != nil
            isThere = known?.isThere ?? false
            // What the manifest was resolved from, or comes to, lies there already.
            let isRight = isThere && segment.sha256 != nil && segment.sha256 == stored?.sha256
            isAsked = !isRight
            isNews = known?.segment != segment
        }

        var isManifest: Bool { segment.isManifest }

        /// Takes what came of asking; the object that is to be staged, where there is a new one.
        mutating func take(_ answer: RefreshAnswer) -> PendingObject? {
            guard let now = answer.stored else { return nil }
            let isSame = isThere && now == stored
            if !isSame || validator != answer.validator { isNews = true }
            validator = answer.validator
            isVerified = answer.isVerified || isSame && isVerified
            stored = now
            guard isSame else { return answer.object }
            answer.object?.discard()
            return nil
        }

    }

    var files: [File]
    /// Of a title whose manifest lists other files than before: how many.
    private(set) var listed = 0
    /// Of a title whose manifest was resolved anew: rules that it breaks.
    var warnings: ManifestWarnings?

    var isRelisted: Bool { listed > 0 }

    /// A list of files that is as it was.
    ///
    /// - Parameter playlistsAreRight: they need not be asked for once more.
    init(files: [File], playlistsAreRight: Bool = false) {
        self.files = files
        guard playlistsAreRight else { return }
        for place in self.files.indices where self.files[place].isManifest {
            self.files[place].isAsked = false
        }
    }

    /// A title whose manifest was resolved anew, with its sidecars as they were.
    init(files known: [File], listing: [ResolvedSegment]) {
        struct Name: Hashable {
            var key: String
            var url: String
        }
        var byName: [Name: File] = [:]
        for file in known {
            byName[Name(key: file.segment.key, url: file.segment.url)] = file
        }
        let own = known.filter { $0.segment.ordinal < WireLimits.segmentsPerAsset }
        files =
            listing.map { segment in
                File(segment, known: byName[Name(key: segment.key, url: segment.url)])
            } + known.filter { $0.segment.ordinal >= WireLimits.segmentsPerAsset }
        let isSame =
            own.count == listing.count
            && zip(own, listing).allSatisfy { file, segment in
                file.segment.ordinal == segment.ordinal && file.segment.key == segment.key
                    && file.segment.url == segment.url && file.segment.role == segment.role
            }
        listed = isSame ? 0 : listing.count
    }

    /// What the coordinator is told: all that a manifest lists, or what is news.
    ///
    /// - Parameter staged: places of files that have new bytes.
    func told(staged: Set<Int>) -> [RefreshedFile] {
        files.enumerated().compactMap { place, file in
            let isListed = isRelisted && file.segment.ordinal < WireLimits.segmentsPerAsset
            guard isListed || file.isNews, let stored = file.stored else { return nil }
            return RefreshedFile(
                segment: file.segment, stored: stored, validator: file.validator,
                verified: file.isVerified, staged: staged.contains(place) ? place + 1 : nil)
        }
    }
}
