/// What a refresh came to for an asset.
package enum RefreshOutcome: String, Codable, CaseIterable, Sendable {
    /// Its origins say that what is stored is still right, or served the same bytes.
    case unchanged
    /// New bytes are at the edge.
    case changed
    /// What was stored before is still at the edge; where the switch failed, the asset has failed with it.
    case failed
}

/// `POST /v1/refreshes/files`: asks for the files of an asset whose refresh a lease holds, page by page. The first
/// page of a `refresh` begins it: what an earlier try handed in is forgotten. Of a `switch`, the files are those
/// that are staged.
package struct RefreshFilesRequest: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    /// The page before's `next`; nil for the first one.
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
    /// Nil with the last of them.
    package var next: Int?
    /// Of a `switch`: whose files are to take the place of the old ones.
    package var staging: Staging?

    package init(files: [RefreshFile], next: Int?, staging: Staging? = nil) {
        self.files = files
        self.next = next
        self.staging = staging
    }

    /// Who staged the files of a switch, which is how they are named at the site.
    package struct Staging: Codable, Hashable, Sendable {
        package var lease: LeaseID
        package var job: JobID

        package init(lease: LeaseID, job: JobID) {
            self.lease = lease
            self.job = job
        }
    }
}

/// One stored file of an asset, and what is known of it.
package struct RefreshFile: Codable, Hashable, Sendable {
    /// What it is. `bytes` and `sha256` are those of the list, or of the playlist that was resolved; without
    /// `content`.
    package var segment: ResolvedSegment
    /// What the list names besides, a text of `FurtherDigests`.
    package var digests: String?
    package var stored: StoredObject
    /// As in `JobReport`.
    package var validator: String?
    /// A digest was compared when it was fetched; nil is false.
    package var verified: Bool?
    /// The asset does without it; nil is false.
    package var isOptional: Bool?
    /// What lies there is not what the origin serves; nil is false.
    package var isDocument: Bool?
    /// Of a `switch`: the number of the staged file.
    package var staged: Int?

    package init(segment: ResolvedSegment, stored: StoredObject) {
        self.segment = segment
        self.stored = stored
    }
}

/// `POST /v1/refreshes`: files of an asset as they are to be, repeated until all are sent; nothing of it counts
/// before the job is reported done. A repeated batch has one effect. Of an asset whose list of files is as it was,
/// those that have changed are enough.
///
/// Where new bytes are staged, the last batch asks for the switch. Accepted, it is granted once and for all: the job
/// is a `switch` from then on, that nothing but its end takes away, whoever holds it.
package struct RefreshBatch: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    /// 1 to `WireLimits.segmentsPerRequest`.
    package var files: [RefreshedFile]
    /// With the last batch of a refresh that has staged files.
    package var switchOver: Switch?
    /// Of a title whose manifest was resolved anew, with the last batch: as in `SegmentBatch`. Nil leaves what is
    /// known.
    package var warnings: ManifestWarnings?

    package init(
        worker: WorkerID, job: JobID, lease: LeaseID, files: [RefreshedFile],
        switchOver: Switch? = nil
    ) {
        self.worker = worker
        self.job = job
        self.lease = lease
        self.files = files
        self.switchOver = switchOver
    }

    /// What the switch is asked for with.
    package struct Switch: Codable, Hashable, Sendable {
        /// Of a title whose manifest lists other files than before: how many.
        package var segments: Int?

        package init(segments: Int? = nil) { self.segments = segments }
    }
}

/// A file as it is, or is to be, at the edge.
package struct RefreshedFile: Codable, Hashable, Sendable {
    package var segment: ResolvedSegment
    package var stored: StoredObject
    package var validator: String?
    package var verified: Bool?
    /// The number of the file that holds its new bytes, from 1; nil where what lies there is right.
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

/// `GET /v1/catalogs/{id}/refresh`: what the last refresh came to, so far.
package struct RefreshSummary: Codable, Sendable {
    package var unchanged: Int
    package var changed: Int
    package var failed: Int
    /// The first of those that failed, `mostFailures` at most.
    package var failures: [AssetStatus]

    package static let mostFailures = 20

    /// True when the refresh of one of `failures` was cancelled.
    package var isCancelled: Bool { failures.contains { $0.failure?.code == "worker.cancelled" } }

    package init(unchanged: Int, changed: Int, failed: Int, failures: [AssetStatus]) {
        self.unchanged = unchanged
        self.changed = changed
        self.failed = failed
        self.failures = failures
    }
}
