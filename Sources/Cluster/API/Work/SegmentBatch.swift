package import Model

/// `POST /v1/segments`: segments that a resolve job found. It is repeated until all are sent; then
/// the job is reported done. A repeated batch has one effect.
package struct SegmentBatch: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    package var segments: [ResolvedSegment]
    /// With the title's first segment: rules that its manifests break,
    /// `WireLimits.warningsPerAsset` at most. Nil for none.
    package var warnings: ManifestWarnings?
    /// With the title's first segment: renditions that the title lacks, because a file of theirs
    /// cannot be fetched, `WireLimits.leftOutRenditions` at most. Nil for none.
    package var leftOut: [LeftOutRendition]?
    /// For a live title that is recorded: what the reload of its playlists found. Their ordinals are
    /// indexes then. Nil for others.
    package var recording: RecordingUpdate?

    package init(worker: WorkerID, job: JobID, lease: LeaseID, segments: [ResolvedSegment]) {
        self.worker = worker
        self.job = job
        self.lease = lease
        self.segments = segments
    }
}

// MARK: Fields

extension SegmentBatch: WireTable {
    package enum Field: Int, WireField {
        case worker, job, lease, warnings, leftOut, recording

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: SegmentBatch {
        SegmentBatch(worker: .zero, job: JobID(0), lease: .zero, segments: [])
    }

    package static var listName: String { "segments" }

    package var list: [ResolvedSegment] {
        get { segments }
        set { segments = newValue }
    }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.worker, &worker)
        try coder.code(.job, &job)
        try coder.code(.lease, &lease)
        try coder.codeJSON(.warnings, &warnings)
        try coder.codeJSON(.leftOut, &leftOut)
        try coder.codeJSON(.recording, &recording)
    }
}

extension ResolvedSegment: WireRow {
    package enum Field: Int, WireField {
        case ordinal, url, key, role, bytes, sha256, content, servedSHA256, mirrors, objectOffset

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: ResolvedSegment {
        ResolvedSegment(ordinal: 0, url: "", key: "", role: .data)
    }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.ordinal, &ordinal)
        try coder.code(.url, &url)
        try coder.code(.key, &key)
        try coder.code(.role, &role)
        try coder.code(.bytes, &bytes)
        try coder.code(.sha256, &sha256)
        try coder.code(.content, &content)
        try coder.code(.servedSHA256, &servedSHA256)
        try coder.code(.mirrors, &mirrors)
        try coder.code(.objectOffset, &objectOffset)
    }
}
