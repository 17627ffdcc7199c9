package import Model

/// One leased job: its identity and its task.
package struct Job: Hashable, Sendable {
    package var id: JobID
    package var asset: AssetID
    /// The run of its catalog, for which the worker counts its work.
    package var run: RunID
    /// Number of this attempt, from 1.
    package var attempt: Int
    package var task: JobTask

    package init(
        id: JobID, asset: AssetID, run: RunID = RunID(0), attempt: Int = 1, task: JobTask
    ) {
        self.id = id
        self.asset = asset
        self.run = run
        self.attempt = attempt
        self.task = task
    }

    package var kind: JobKind { task.kind }

    /// The URL that is requested; nil for a task without one.
    package var requestedURL: String? {
        switch task {
        case .fetch(let fetch): fetch.url
        case .resolve(let source), .refresh(let source), .publish(let source): source.url
        case .verify, .checksums, .purge: nil
        }
    }
}

/// The task of a job, with its fields. Indirect: a job is passed on as one reference to it.
package indirect enum JobTask: Hashable, Sendable {
    /// Fetch one object, or a part of it, and store it.
    case fetch(Fetch)
    /// Read the manifest of a title and report its segments.
    case resolve(AssetSource)
    /// Hash a multipart file whose parts are stored, and give it its final key.
    case verify(Verification)
    /// Write the checksum file of this directory.
    case checksums(directory: String)
    /// Request every file of a completed asset again, and stage changed ones.
    case refresh(AssetSource)
    /// Publish the staged files of a refresh.
    case publish(AssetSource)
    /// Delete files that a catalog's assets no longer need (`POST /v1/purges` names them).
    case purge

    package var kind: JobKind {
        switch self {
        case .fetch: .fetch
        case .resolve: .resolve
        case .verify: .verify
        case .checksums: .checksums
        case .refresh: .refresh
        case .publish: .publish
        case .purge: .purge
        }
    }
}

/// The task of a fetch.
package struct Fetch: Hashable, Sendable {
    package var url: String
    /// The final key.
    package var key: String
    package var role: SegmentRole
    package var body: Body
    /// The expected length if the list gives one; of a part or a byte range its own.
    package var length: Int64?
    /// The digest stated by the list or by the manifest's resolution.
    package var sha256: String?
    /// Further digests of the list, a text of `FurtherDigests`.
    package var digests: String?
    /// The object stored under the key before; it is reused if still there.
    package var previous: PreviousObject?
    /// True if a file of another tool may lie under the key; the origin must confirm it.
    package var adopts = false
    /// Other URLs of the same bytes.
    package var mirrors: [String] = []
    /// The neighbour that has stored it, from which alone it is fetched; nil for none.
    package var neighbour: NeighbourFile?
    /// The origin that serves it during the cooldown of its own. Then only mirrors are used, those
    /// of this origin first; nil for its own origin.
    package var mirrorOrigin: String?

    package enum Body: Hashable, Sendable {
        /// - isDivisible: false if its origin does not serve ranges, so that it must not be split.
        /// - abandoned: the multipart file of an earlier attempt, to be removed; nil for none.
        case whole(isDivisible: Bool, abandoned: MultipartID?)
        /// A range of a multipart file.
        case part(MultipartFile, offset: Int64, length: Int64)
        /// A byte range of the object, which is stored as a file of its own.
        case range(offset: Int64, length: Int64)
        /// The rewritten manifest that the coordinator has (`POST /v1/rewritten-manifests`).
        case rewrittenManifest
    }

    package init(
        url: String, key: String, role: SegmentRole,
        body: Body = .whole(isDivisible: true, abandoned: nil)
    ) {
        self.url = url
        self.key = key
        self.role = role
        self.body = body
    }
}

/// The object that was stored under a fetch's key before.
package struct PreviousObject: Hashable, Sendable {
    package var stored: StoredObject
    /// The origin's validator, if another asset or an earlier selection of tracks stored it; the
    /// report repeats it. Nil for none.
    package var validator: String?
    /// True if it was compared with a digest then.
    package var isVerified = false

    /// Modification time of a file that another tool stored, which the origin must confirm; nil for
    /// others.
    package var foundModified: Int64? { validator.flatMap { FoundFile.modified(in: $0) } }

    package init(_ stored: StoredObject, validator: String? = nil) {
        self.stored = stored
        self.validator = validator
    }
}

/// The task of a verification.
package struct Verification: Hashable, Sendable {
    /// The final key.
    package var key: String
    /// The file with its parts.
    package var multipart: MultipartFile
    /// Digests of the whole stated by the origin, a text of `FurtherDigests.isStatement`; nil for
    /// none.
    package var stated: String?
    /// The digest stated by the list.
    package var sha256: String?
    /// Further digests of the list, a text of `FurtherDigests`.
    package var digests: String?

    package init(key: String, multipart: MultipartFile) {
        self.key = key
        self.multipart = multipart
    }
}

/// The manifest of a title, or the object of a file asset.
package struct AssetSource: Hashable, Sendable {
    package var url: String
    /// The final key.
    package var key: String
    package var kind: AssetKind
    /// Options for the title; nil for all tracks.
    package var titles: TitleOptions?
    /// The position from which its recording continues; nil unless one has begun.
    package var recording: RecordingPosition?
    /// Renditions that the title lacks, each with a file that cannot be fetched; nil for none.
    package var leftOut: [LeftOutRendition]?

    package init(url: String, key: String, kind: AssetKind, titles: TitleOptions? = nil) {
        self.url = url
        self.key = key
        self.kind = kind
        self.titles = titles
    }
}

// MARK: Fields

/// The columns of a job's row; the queue's statements have them as well, in snake case.
package enum JobField: Int, WireField {
    case id, asset, attempt, run
    /// Null for a fetch.
    case kind
    case role, url, key
    case knownBytes, knownSHA256, length, sha256, digests
    case rangeOffset, multipart, totalBytes, validator
    /// True if a whole file must not be split; otherwise null.
    case isWhole
    case abandonedMultipart
    /// True for a rewritten manifest; otherwise null.
    case isRewritten
    /// The offset of a byte range that is stored as a file of its own; otherwise null.
    case objectOffset
    case mirrors, mirrorOrigin, knownValidator, knownVerified
    case stated, parts
    case assetKind, titles
    case neighbour
    case recording
    case leftOut

    package static let layout = RowLayout(of: JobField.self)
}

extension Job: WireObject {
    package typealias Field = JobField

    package static var blank: Job {
        Job(id: JobID(0), asset: AssetID(0), attempt: 0, task: .checksums(directory: ""))
    }

    package mutating func code(with coder: inout some FieldCoder<JobField>) throws {
        try coder.code(.id, &id)
        try coder.code(.asset, &asset)
        try coder.code(.attempt, &attempt)
        try coder.code(.run, &run)
        var kind = task.kind == .fetch ? nil : task.kind
        try coder.code(.kind, &kind)
        if coder.isReading {
            task = try JobTask(kind ?? .fetch, from: &coder)
        } else {
            try task.write(with: &coder)
        }
    }
}

extension JobTask {
    /// Reads the task of a kind.
    fileprivate init(_ kind: JobKind, from coder: inout some FieldCoder<JobField>) throws {
        func source() throws -> AssetSource {
            var source = AssetSource(url: "", key: "", kind: .file)
            try source.code(with: &coder)
            return source
        }
        switch kind {
        case .fetch:
            var fetch = Fetch(url: "", key: "", role: .file)
            try fetch.code(with: &coder)
            self = .fetch(fetch)
        case .resolve: self = .resolve(try source())
        case .refresh: self = .refresh(try source())
        case .publish: self = .publish(try source())
        case .verify:
            var verification = Verification(key: "", multipart: .blank)
            try verification.code(with: &coder)
            self = .verify(verification)
        case .checksums:
            var directory = ""
            try coder.code(.key, &directory)
            self = .checksums(directory: directory)
        case .purge: self = .purge
        }
    }

    fileprivate func write(with coder: inout some FieldCoder<JobField>) throws {
        switch self {
        case .fetch(var fetch): try fetch.code(with: &coder)
        case .resolve(var source), .refresh(var source), .publish(var source):
            try source.code(with: &coder)
        case .verify(var verification): try verification.code(with: &coder)
        case .checksums(var directory): try coder.code(.key, &directory)
        case .purge: break
        }
    }
}

extension Fetch {
    fileprivate mutating func code(with coder: inout some FieldCoder<JobField>) throws {
        try coder.code(.role, &role)
        try coder.code(.url, &url)
        try coder.code(.key, &key)
        var known = previous.map(\.stored)
        try StoredObject.code(.knownBytes, .knownSHA256, &known, with: &coder)
        try coder.code(.length, &length)
        try coder.code(.sha256, &sha256)
        try coder.code(.digests, &digests)
        try body.code(length, with: &coder)
        try coder.codeList(.mirrors, &mirrors)
        try coder.code(.mirrorOrigin, &mirrorOrigin)
        var validator = adopts ? FoundFile.unread : previous?.validator
        try coder.code(.knownValidator, &validator)
        var isVerified = previous?.isVerified ?? false
        try coder.codeFlag(.knownVerified, &isVerified)
        try coder.codeJSON(.neighbour, &neighbour)
        guard coder.isReading else { return }
        previous = known.map { PreviousObject($0, validator: validator) }
        previous?.isVerified = isVerified
        adopts = known == nil && validator == FoundFile.unread
    }
}

extension Fetch.Body {
    /// - Parameter length: the length of the object or part.
    fileprivate mutating func code(
        _ length: Int64?, with coder: inout some FieldCoder<JobField>
    ) throws {
        var (offset, multipart, abandoned) = (Int64?.none, MultipartFile?.none, MultipartID?.none)
        var (isWhole, isRewritten) = (false, false)
        var objectOffset: Int64?
        switch self {
        case .whole(let isDivisible, let left): (isWhole, abandoned) = (!isDivisible, left)
        case .part(let file, let start, _): (multipart, offset) = (file, start)
        case .range(let start, _): objectOffset = start
        case .rewrittenManifest: isRewritten = true
        }
        try coder.code(.rangeOffset, &offset)
        try MultipartFile.code(&multipart, with: &coder)
        try coder.codeFlag(.isWhole, &isWhole)
        try coder.code(.abandonedMultipart, &abandoned)
        try coder.codeFlag(.isRewritten, &isRewritten)
        try coder.code(.objectOffset, &objectOffset)
        guard coder.isReading else { return }
        if let offset {
            guard let multipart, let length else {
                throw incomplete("a part lacks its file or its length.")
            }
            self = .part(multipart, offset: offset, length: length)
        } else if let objectOffset {
            guard let length else { throw incomplete("a byte range lacks its length.") }
            self = .range(offset: objectOffset, length: length)
        } else if isRewritten {
            self = .rewrittenManifest
        } else {
            self = .whole(isDivisible: !isWhole, abandoned: abandoned)
        }
    }
}

extension Verification {
    fileprivate mutating func code(with coder: inout some FieldCoder<JobField>) throws {
        try coder.code(.key, &key)
        try coder.code(.sha256, &sha256)
        try coder.code(.digests, &digests)
        var file: MultipartFile? = multipart
        try MultipartFile.code(&file, with: &coder)
        var parts = multipart.parts.isEmpty ? nil : multipart.parts
        try coder.code(.stated, &stated)
        try coder.codeJSON(.parts, &parts)
        guard coder.isReading else { return }
        guard let file else { throw incomplete("a verification lacks its file.") }
        multipart = file
        multipart.parts = parts ?? []
    }
}

extension AssetSource {
    fileprivate mutating func code(with coder: inout some FieldCoder<JobField>) throws {
        try coder.code(.url, &url)
        try coder.code(.key, &key)
        try coder.code(.assetKind, &kind)
        try coder.codeJSON(.titles, &titles)
        try coder.codeJSON(.recording, &recording)
        try coder.codeJSON(.leftOut, &leftOut)
    }
}

/// Returns the failure of fields that belong together, of which some are missing.
func incomplete(_ text: String) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: text))
}

extension MultipartFile {
    fileprivate static var blank: MultipartFile {
        MultipartFile(id: .zero, totalBytes: 0, validator: "")
    }

    /// Codes a file whose columns are null together.
    fileprivate static func code(
        _ file: inout MultipartFile?, with coder: inout some FieldCoder<JobField>
    ) throws {
        var (id, totalBytes, validator) = (file?.id, file?.totalBytes, file?.validator)
        try coder.code(.multipart, &id)
        try coder.code(.totalBytes, &totalBytes)
        try coder.code(.validator, &validator)
        if let id, let totalBytes, let validator {
            file = MultipartFile(id: id, totalBytes: totalBytes, validator: validator)
        } else {
            guard id == nil, totalBytes == nil, validator == nil else {
                throw incomplete("a multipart file lacks a field.")
            }
            file = nil
        }
    }
}

extension StoredObject {
    /// Codes an object whose columns are null together.
    static func code<Coder: FieldCoder>(
        _ bytes: Coder.Field, _ sha256: Coder.Field, _ object: inout StoredObject?,
        with coder: inout Coder
    ) throws {
        var (length, digest) = (object?.bytes, object?.sha256)
        try coder.code(bytes, &length)
        try coder.code(sha256, &digest)
        if let length, let digest {
            object = StoredObject(bytes: length, sha256: digest)
        } else {
            guard length == nil, digest == nil else {
                throw incomplete("a stored object needs both its length and its SHA-256.")
            }
            object = nil
        }
    }
}
