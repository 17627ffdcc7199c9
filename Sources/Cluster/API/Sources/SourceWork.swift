package import Model

// Sources of catalogs, as workers see them.

/// A source that is due and needs a worker.
package struct SourceCall: Codable, WorkCall {
    package var id: CatalogID
    /// Queue of the catalog.
    package var queue: String

    package init(id: CatalogID, queue: String) {
        self.id = id
        self.queue = queue
    }
}

/// The answer to `WorkLeaseRequest`; without work, if another worker has it or it is not due.
package struct SourceGrant: Codable, Sendable {
    package var work: Work?

    package struct Work: Codable, Sendable {
        /// The worker holds the source for that long after its last request for it.
        package var seconds: Double
        package var url: String
        package var format: String?
        /// Validator and digest of the list that was last applied; nil for none.
        package var validator: String?
        package var sha256: String?
        package var maxDropPercent: Int
        /// Options of the catalog's titles, with its rules for keys.
        package var titles: TitleOptions?
        /// Assets of the catalog now.
        package var assets: Int64

        package init(
            seconds: Double, url: String, format: String?, validator: String?, sha256: String?,
            maxDropPercent: Int, titles: TitleOptions?, assets: Int64
        ) {
            self.seconds = seconds
            self.url = url
            self.format = format
            self.validator = validator
            self.sha256 = sha256
            self.maxDropPercent = maxDropPercent
            self.titles = titles
            self.assets = assets
        }
    }

    package init(work: Work?) { self.work = work }
}

/// `POST /v1/sources/{catalog}/checks`: how many of these names the catalog has; also extends the
/// lease. At most `WireLimits.namesPerSourceCheck`.
package struct SourceCheck: Codable, Sendable {
    package var worker: WorkerID
    package var lease: LeaseID
    package var names: [String]

    package init(worker: WorkerID, lease: LeaseID, names: [String] = []) {
        self.worker = worker
        self.lease = lease
        self.names = names
    }
}

/// The answer to `SourceCheck`.
package struct SourceChecked: Codable, Sendable {
    package var known: Int64

    package init(known: Int64) { self.known = known }
}

/// `POST /v1/sources/{catalog}/reports`: ends a reading. A repeated report changes nothing.
package struct SourceReport: Codable, Sendable {
    package var worker: WorkerID
    package var lease: LeaseID
    package var result: SourceResult
    /// For a list that is applied: its only validator, its digest, its assets, and how many of them the
    /// catalog did not have.
    package var validator: String?
    package var sha256: String?
    package var assets: Int64?
    package var added: Int64?
    /// The reason for its failure.
    package var failure: Failure?

    package init(worker: WorkerID, lease: LeaseID, result: SourceResult) {
        self.worker = worker
        self.lease = lease
        self.result = result
    }
}
