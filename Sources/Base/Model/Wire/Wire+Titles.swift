/// Which tracks of a title are wanted. Everything is, where nothing is said.
package struct TrackSelection: Codable, Hashable, Sendable {
    /// Pixels.
    package var maximumHeight: Int64?
    package var maximumBitsPerSecond: Int64?
    /// One variant, the one whose bit rate is nearest; the lower of two.
    package var preferredBitsPerSecond: Int64?
    /// The start of an RFC 6381 name, `avc1` or `hvc1.2`, or a family: `h264`, `hevc`, `av1`, `vp9`,
    /// `aac`, `ac3`, `eac3`, `opus`. Of sound and of pictures only what is named bounds anything.
    package var codecs: [String]?
    /// BCP 47 tags, `en` for `en-US` as well (RFC 4647, 3.3.1), `*` for all; empty for none.
    package var audio: [String]?
    package var subtitles: [String]?

    package init() {}

    /// Nothing is said.
    package var isEverything: Bool { self == TrackSelection() }
}

/// What is wanted of the titles of a catalog.
package struct TitleOptions: Codable, Hashable, Sendable {
    package var tracks = TrackSelection()
    /// Keys stay with the origin: manifests at the edge name them there. Nil is false.
    package var leavesKeys: Bool?
    /// A live title is taken for what it lists when it is resolved; nil is false, and such a title fails.
    package var takesSnapshots: Bool?
    /// A manifest that breaks a rule which players read past is refused; nil is false, and it is read as players
    /// read it, with a warning.
    package var isStrict: Bool?
    /// Which query parameters belong to keys, by origin; nil where their names tell. Of all assets of the catalog.
    package var keyQueries: [KeyQueryRule]?

    package init() {}

    package var isDefault: Bool { self == TitleOptions() }
}

/// `POST /v1/documents`: asks for what a leased job is to store.
package struct DocumentRequest: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID

    package init(worker: WorkerID, job: JobID, lease: LeaseID) {
        self.worker = worker
        self.job = job
        self.lease = lease
    }
}

/// The answer to `DocumentRequest`; without content where the lease does not hold the job.
package struct Document: Codable, Sendable {
    package var content: String?

    package init(content: String?) { self.content = content }
}
