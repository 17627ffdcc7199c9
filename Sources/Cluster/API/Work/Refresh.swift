package import Model

/// Outcome of an asset's refresh.
package enum RefreshOutcome: String, FieldValue, Codable, CaseIterable, Sendable {
    /// Its origins confirmed the stored files, or served the same bytes.
    case unchanged
    /// New bytes are published.
    case changed
    /// The previous files are still published; if publishing failed, the asset has failed too.
    case failed
}

/// `POST /v1/refreshes/files`: returns the files of an asset whose refresh a lease holds, by page.
/// The first page of a `refresh` starts it over: files from an earlier attempt are dropped. For a
/// `publish` job, the files are the staged ones.
package struct RefreshFilesRequest: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    /// The previous page's `next`; nil for the first one.
    package var after: Int?

    package init(worker: WorkerID, job: JobID, lease: LeaseID, after: Int? = nil) {
        self.worker = worker
        self.job = job
        self.lease = lease
        self.after = after
    }
}

/// The answer to `RefreshFilesRequest`.
package struct RefreshFilesPage: Codable, Sendable {
    package var files: [RefreshFile]
    /// Nil on the last page.
    package var next: Int?
    /// For a `publish` job: the job that staged the files to publish.
    package var staging: Staging?

    package init(files: [RefreshFile], next: Int?, staging: Staging? = nil) {
        self.files = files
        self.next = next
        self.staging = staging
    }

    /// The lease and job that staged the files to publish; they name the files at the site.
    package struct Staging: Codable, Hashable, Sendable {
        package var lease: LeaseID
        package var job: JobID

        package init(lease: LeaseID, job: JobID) {
            self.lease = lease
            self.job = job
        }
    }
}

/// One stored file of an asset, with its records.
package struct RefreshFile: Codable, Hashable, Sendable {
    /// The file. `bytes` and `sha256` come from the list, or from the playlist that was resolved;
    /// without `content`.
    package var segment: ResolvedSegment
    /// Further digests in the list, a text of `FurtherDigests`.
    package var digests: String?
    package var stored: StoredObject
    /// The validator, as in `JobReport`.
    package var validator: String?
    /// True if a digest was compared when it was fetched; nil is false.
    package var verified: Bool?
    /// True if the asset is complete without it; nil is false.
    package var isOptional: Bool?
    /// True if it is a rewritten manifest instead of the origin's bytes; nil is false.
    package var isRewritten: Bool?
    /// For a `publish` job: the number of the staged file.
    package var staged: Int?

    package init(segment: ResolvedSegment, stored: StoredObject) {
        self.segment = segment
        self.stored = stored
    }
}

/// `POST /v1/refreshes`: new versions of an asset's files, repeated until all are sent. They take
/// effect only when the job is reported done. A repeated batch has one effect. If the asset's list
/// of files is unchanged, only the changed ones are needed.
///
/// If new bytes are staged, the last batch requests to publish them. Once accepted, this is
/// permanent: the job is a `publish` job from then on, and only its end removes it, whichever
/// worker holds it.
package struct RefreshBatch: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    /// 1 to `WireLimits.segmentsPerRequest`.
    package var files: [RefreshedFile]
    /// In the last batch of a refresh that has staged files.
    package var publication: Publication?
    /// In the last batch of a title whose manifest was resolved again: as in `SegmentBatch`. Nil
    /// keeps the recorded warnings.
    package var warnings: ManifestWarnings?

    package init(
        worker: WorkerID, job: JobID, lease: LeaseID, files: [RefreshedFile],
        publication: Publication? = nil
    ) {
        self.worker = worker
        self.job = job
        self.lease = lease
        self.files = files
        self.publication = publication
    }

    /// Data for publishing.
    package struct Publication: Codable, Hashable, Sendable {
        /// Number of segments, for a title whose manifest lists other files than before.
        package var segments: Int?
        /// As in `SegmentBatch`, for a title whose manifest was resolved again; empty for none. Nil
        /// keeps the recorded ones.
        package var leftOut: [LeftOutRendition]?

        package init(segments: Int? = nil, leftOut: [LeftOutRendition]? = nil) {
            self.segments = segments
            self.leftOut = leftOut
        }
    }
}

/// A file as it is, or will be, at the edge.
package struct RefreshedFile: Codable, Hashable, Sendable {
    package var segment: ResolvedSegment
    package var stored: StoredObject
    package var validator: String?
    package var verified: Bool?
    /// The number of the file with its new bytes, from 1; nil if the stored file is current.
    package var staged: Int?

    package init(
        segment: ResolvedSegment, stored: StoredObject, validator: String? = nil,
        verified: Bool? = nil, staged: Int? = nil
    ) {
        self.segment = segment
        self.stored = stored
        self.validator = validator
        self.verified = verified
        self.staged = staged
    }
}

/// `GET /v1/catalogs/{id}/refresh`: results of the last refresh so far.
package struct RefreshSummary: Codable, Sendable {
    package var unchanged: Int
    package var changed: Int
    package var failed: Int
    /// The first failed assets, `maxFailures` at most.
    package var failures: [AssetStatus]
    /// Number of titles of these that lack renditions, whose files their origins still do not serve; nil
    /// for none.
    package var withoutRenditions: Int?
    /// The first of these titles, `maxFailures` at most, with `leftOut`; nil for none.
    package var lacking: [AssetStatus]?

    package static let maxFailures = 20

    /// True if the refresh of one of `failures` was cancelled.
    package var isCancelled: Bool { failures.contains { $0.failure?.code == .workerCancelled } }

    package init(unchanged: Int, changed: Int, failed: Int, failures: [AssetStatus]) {
        self.unchanged = unchanged
        self.changed = changed
        self.failed = failed
        self.failures = failures
    }
}
