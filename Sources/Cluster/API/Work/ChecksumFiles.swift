package import Model

/// `POST /v1/checksums/turns`: a worker is about to write the `SHA256SUMS` of the directories of
/// these jobs of one lease.
package struct ChecksumTurnRequest: Codable, Sendable {
    package var worker: WorkerID
    package var lease: LeaseID
    /// 1 to `WireLimits.jobsPerLease`, all of kind `checksums`.
    package var jobs: [JobID]

    package init(worker: WorkerID, lease: LeaseID, jobs: [JobID]) {
        self.worker = worker
        self.lease = lease
        self.jobs = jobs
    }
}

/// The answer to `ChecksumTurnRequest`: one turn per job, in order.
package struct ChecksumTurns: Codable, Sendable {
    package var turns: [Turn]

    /// A directory's checksum file has one writer at a time, for all catalogs.
    package enum Turn: String, Codable, CaseIterable, Sendable {
        /// This worker may write the file until it reports the job.
        case write
        /// A file written since contains the completed files of the job's catalog: the job is done.
        case written
        /// Another worker is writing: return the job for a second.
        case wait
        /// The lease does not hold the job.
        case stale
    }

    package init(turns: [Turn]) { self.turns = turns }
}

/// `GET /v1/checksums?site=…&directory=…&after=…`: a page of the entries of a directory's
/// `SHA256SUMS`.
package struct ChecksumPage: Codable, Sendable {
    package var entries: [Entry]
    /// Value of `after` for the next page; nil on the last.
    package var next: String?

    package struct Entry: Codable, Hashable, Sendable {
        /// Final key, relative to the site.
        package var key: String
        package var sha256: String
        /// Time of its record, in seconds since 1970 by the database's clock: of two entries of one
        /// key, the later one is stored.
        package var recordedSeconds: Double

        package init(key: String, sha256: String, recordedSeconds: Double = 0) {
            self.key = key
            self.sha256 = sha256
            self.recordedSeconds = recordedSeconds
        }
    }

    package init(entries: [Entry], next: String?) {
        self.entries = entries
        self.next = next
    }
}

// MARK: Fields

extension ChecksumPage: WireTable {
    package enum Field: Int, WireField {
        case next

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: ChecksumPage { ChecksumPage(entries: [], next: nil) }
    package static var listName: String { "entries" }

    package var list: [Entry] {
        get { entries }
        set { entries = newValue }
    }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.next, &next)
    }
}

extension ChecksumPage.Entry: WireRow {
    package enum Field: Int, WireField {
        case key, sha256, recordedSeconds

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: Self { Self(key: "", sha256: "") }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.key, &key)
        try coder.code(.sha256, &sha256)
        try coder.code(.recordedSeconds, &recordedSeconds)
    }
}
