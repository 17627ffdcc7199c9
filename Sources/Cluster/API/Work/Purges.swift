package import Model

/// `POST /v1/purges`: a worker reports which files of a leased purge job it has deleted, and asks
/// for more. A repeated request has one effect.
package struct PurgeRequest: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    /// Results of files that the last answer named, `WireLimits.filesPerPurge` at most.
    package var results: [Result]
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
