package import Model

/// `POST /v1/purges`: a worker reports which files of a leased purge job it has deleted, and asks
/// for more. A repeated request has one effect.
package struct PurgeRequest: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    /// Results of files that the last answer named, `WireLimits.filesPerPurge` at most.
    package var results: [Result]
    /// Interrupted bodies that were deleted, for the results of `bodies` of the last answer,
    /// `WireLimits.filesPerPurge` at most; nil for none.
    package var freed: [FreedBodies]?
    /// Assets of which the site has interrupted bodies, `WireLimits.filesPerPurge` at most: the answer
    /// names those that are gone, and nothing else. Nil for no such question.
    package var assets: [AssetID]?
    /// True if the worker stops: no more files are handed out. Nil is false.
    package var isLast: Bool?

    package struct Result: Codable, Hashable, Sendable {
        /// Number of the file.
        package var file: Int64
        /// True if a file had the key.
        package var deleted: Bool
        /// The reason why it could not be deleted: it is tried again later. Nil if nothing has the
        /// key now.
        package var failure: Failure?

        package init(file: Int64, deleted: Bool, failure: Failure? = nil) {
            self.file = file
            self.deleted = deleted
            self.failure = failure
        }
    }

    /// The interrupted bodies of an asset.
    package struct FreedBodies: Codable, Hashable, Sendable {
        /// 0 for those of several assets.
        package var asset: AssetID
        package var files: Int
        package var bytes: Int64

        package init(asset: AssetID, files: Int, bytes: Int64) {
            self.asset = asset
            self.files = files
            self.bytes = bytes
        }
    }

    package init(worker: WorkerID, job: JobID, lease: LeaseID, results: [Result] = []) {
        self.worker = worker
        self.job = job
        self.lease = lease
        self.results = results
    }
}

/// The answer to `PurgeRequest`.
package struct PurgePage: Codable, Sendable {
    /// Files to delete now, in this order.
    package var files: [File]
    /// Seconds after which there may be more, without files; nil if none is left: the job is done.
    package var waitSeconds: Double?
    /// Entries that ask for the deletion of the interrupted bodies of assets that are gone; each gets
    /// a result, as a file does. Nil for none.
    package var bodies: [Int64]?
    /// Those of the request's assets that are gone; nil if it has none.
    package var gone: [AssetID]?

    package struct File: Codable, Hashable, Sendable {
        package var file: Int64
        /// Final key, relative to the site.
        package var key: String

        package init(file: Int64, key: String) {
            self.file = file
            self.key = key
        }
    }

    package init(files: [File], waitSeconds: Double? = nil) {
        self.files = files
        self.waitSeconds = waitSeconds
    }
}
