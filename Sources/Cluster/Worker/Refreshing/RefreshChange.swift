import API
import Model
import Storage

extension ResolvedSegment {
    /// True for a manifest that was read when the title was resolved, unlike a list's sidecars.
    fileprivate var isManifest: Bool {
        role == .playlist && ordinal < WireLimits.segmentsPerAsset
    }

    /// Returns the publishing order: files before the playlists that list them.
    func rank(entry: String) -> Int {
        if key == entry { return .max }
        return isManifest ? WireLimits.segmentsPerAsset - ordinal : 0
    }
}

/// The files of a refreshed asset as they should be at the edge. A value.
struct RefreshChange: Sendable {
    struct File: Sendable {
        /// The current state of the file.
        var segment: ResolvedSegment
        var digests: String?
        /// The stored object under its key, fetched from its URL; nil for a new file.
        var stored: StoredObject?
        var validator: String?
        var isVerified: Bool
        var isOptional: Bool
        var isRewritten: Bool
        /// True if the stored object exists in its full length.
        var isThere: Bool
        /// True if the file must be requested or written.
        var isAsked = true
        /// True if the coordinator's record of the file is outdated.
        var isChanged = false

        init(_ file: RefreshFile, isThere: Bool) {
            segment = file.segment
            digests = file.digests
            stored = file.stored
            validator = file.validator
            isVerified = file.verified ?? false
            isOptional = file.isOptional ?? false
            isRewritten = file.isRewritten ?? false
            self.isThere = isThere
        }

        /// Creates a file that a manifest lists; `known` is the previous one with its key and URL.
        init(_ segment: ResolvedSegment, known: File?) {
            self.segment = segment
            stored = known?.stored
            validator = known?.validator
            isVerified = known?.isVerified ?? false
            isOptional = false
            isRewritten = segment.content != nil
            isThere = known?.isThere ?? false
            // The source of a rewritten manifest, or its result, is stored already.
            let isRight = isThere && segment.sha256 != nil && segment.sha256 == stored?.sha256
            isAsked = !isRight
            isChanged = known?.segment != segment
        }

        var isManifest: Bool { segment.isManifest }

        /// Applies the answer to a request; returns the new object to stage, if any.
        mutating func take(_ answer: RefreshAnswer) -> PendingObject? {
            guard let now = answer.stored else { return nil }
            let isSame = isThere && now == stored
            if !isSame || validator != answer.validator { isChanged = true }
            validator = answer.validator
            isVerified = answer.isVerified || isSame && isVerified
            stored = now
            guard isSame else { return answer.object }
            answer.object?.discard()
            return nil
        }

    }

    var files: [File]
    /// Number of files in the manifest if it lists others than before, or else 0.
    private(set) var listed = 0
    /// Freshness of the responses to the file, or to the title's manifests; nil if none states it.
    var freshSeconds: Int?
    /// Rules that the title's newly resolved manifest breaks.
    var warnings: ManifestWarnings?
    /// Renditions that the title's newly resolved manifest is without; nil keeps those that are known.
    var leftOut: [LeftOutRendition]?

    var isRelisted: Bool { listed > 0 }

    /// Creates a change with the same list of files.
    ///
    /// - Parameter playlistsAreRight: true if playlists need no further request.
    init(files: [File], playlistsAreRight: Bool = false) {
        self.files = files
        guard playlistsAreRight else { return }
        for index in self.files.indices where self.files[index].isManifest {
            self.files[index].isAsked = false
        }
    }

    /// Creates a change from a newly resolved manifest; sidecars stay.
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

    /// Returns the files to report: all of a new listing, or those that changed.
    ///
    /// - Parameter staged: indexes of files with new bytes.
    func reported(staged: Set<Int>) -> [RefreshedFile] {
        files.enumerated().compactMap { index, file in
            let isListed = isRelisted && file.segment.ordinal < WireLimits.segmentsPerAsset
            guard isListed || file.isChanged, let stored = file.stored else { return nil }
            return RefreshedFile(
                segment: file.segment, stored: stored, validator: file.validator,
                verified: file.isVerified, staged: staged.contains(index) ? index + 1 : nil)
        }
    }
}
