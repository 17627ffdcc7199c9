package import Model

/// `POST /v1/reports`: results of jobs, from any of the worker's leases.
package struct ReportRequest: Codable, Sendable {
    package var worker: WorkerID
    package var results: [JobReport]

    package init(worker: WorkerID, results: [JobReport]) {
        self.worker = worker
        self.results = results
    }
}

/// The result of one leased job.
package struct JobReport: Hashable, Sendable {
    package var job: JobID
    package var lease: LeaseID
    package var outcome: Outcome
    /// Outcomes by origin, if not only the job's own origin was used; nil otherwise.
    package var origins: [OriginOutcome]?

    package enum Outcome: Hashable, Sendable {
        case done(Done = Done())
        case failed(Failed)
        /// Returned untouched: uses up no attempt.
        ///
        /// - afterSeconds: time before the next lease, a minute at most; nil for none.
        case returned(afterSeconds: Double? = nil)

        package enum Kind: String, Codable, CaseIterable, FieldValue, Sendable {
            case done
            case failed
            case returned
        }

        package var kind: Kind {
            switch self {
            case .done: .done
            case .failed: .failed
            case .returned: .returned
            }
        }
    }

    package struct Done: Hashable, Sendable {
        /// The stored object (fetch, verify), or the written checksum file; nil for other jobs.
        package var stored: StoredObject?
        /// True if the bytes were stored already and nothing was fetched.
        package var isReused = false
        /// True if a digest stated by the list or the origin was compared and matches.
        package var isVerified = false
        /// The origin's ETag, else its Last-Modified date; 1 to `WireLimits.validatorCharacters`
        /// characters, nil if it gives neither.
        package var validator: String?
        /// Time of a fetch's transfer, 0 to `WireLimits.transferMilliseconds`; nil if nothing was
        /// fetched.
        package var milliseconds: Int?
        /// Digests of the whole object in the response to a part, a text of
        /// `FurtherDigests.isStatement`; nil for none.
        package var digests: String?
        /// Number of segments of a resolve, sent before with `SegmentBatch`; of a refresh, sent
        /// with `RefreshBatch` if the manifest lists others than before.
        package var segments: Int?
        /// Result of a refresh: `unchanged` or `changed`.
        package var refreshed: RefreshOutcome?
        /// Seconds for which the origin's response is fresh, `WireLimits.freshSeconds`: of a file, or of
        /// the manifest of a title that is fresh for the shortest time. Nil if none states it.
        package var freshSeconds: Int?
        /// The way a cache served the object, a text of `CacheAnswer`; nil for other sites.
        package var cache: String?

        package init(
            stored: StoredObject? = nil, isReused: Bool = false, isVerified: Bool = false,
            validator: String? = nil, milliseconds: Int? = nil, digests: String? = nil,
            segments: Int? = nil, refreshed: RefreshOutcome? = nil
        ) {
            self.stored = stored
            self.isReused = isReused
            self.isVerified = isVerified
            self.validator = validator
            self.milliseconds = milliseconds
            self.digests = digests
            self.segments = segments
            self.refreshed = refreshed
        }
    }

    package struct Failed: Hashable, Sendable {
        package var failure: Failure
        /// `urlDigest` of the rejected URL; nil if unknown.
        package var refused: String?
        /// Seconds before the next attempt, by an origin's Retry-After.
        package var retryAfterSeconds: Double?

        package init(_ failure: Failure, refused: String? = nil, retryAfterSeconds: Double? = nil) {
            self.failure = failure
            self.refused = refused
            self.retryAfterSeconds = retryAfterSeconds
        }
    }

    package init(
        job: JobID, lease: LeaseID, outcome: Outcome, origins: [OriginOutcome]? = nil
    ) {
        self.job = job
        self.lease = lease
        self.outcome = outcome
        self.origins = origins
    }

    /// Nil for another outcome.
    package var done: Done? {
        guard case .done(let done) = outcome else { return nil }
        return done
    }

    /// Nil for another outcome.
    package var failed: Failed? {
        guard case .failed(let failed) = outcome else { return nil }
        return failed
    }
}

/// The answer to `ReportRequest`: a verdict per result.
package struct ReportAnswer: Sendable {
    /// Number of accepted results.
    package var accepted: Int
    /// Indices of results whose job the lease no longer holds; nothing was changed.
    package var stale: [Int]
    /// Indices of results that are invalid for their jobs; nothing was changed.
    package var rejected: [Int]
    /// Origins in cooldown; nil for none.
    package var cooldowns: [OriginCooldown]?

    package enum Verdict: String, Codable, CaseIterable, Sendable {
        case accepted
        case stale
        case rejected
    }

    package init(answers: [Verdict]) {
        stale = answers.indices.filter { answers[$0] == .stale }
        rejected = answers.indices.filter { answers[$0] == .rejected }
        accepted = answers.count - stale.count - rejected.count
    }

    /// Verdicts in the order of the results.
    package var answers: [Verdict] {
        var answers = [Verdict](
            repeating: .accepted, count: accepted + stale.count + rejected.count)
        for index in stale { answers[index] = .stale }
        for index in rejected { answers[index] = .rejected }
        return answers
    }

    /// True if every index is of a result, and none is repeated.
    private var isConsistent: Bool {
        let others = Set(stale).union(rejected)
        return others.count == stale.count + rejected.count
            && (0...WireLimits.resultsPerReport).contains(accepted)
            && others.allSatisfy { (0..<accepted + others.count).contains($0) }
    }
}

// MARK: Fields

extension ReportRequest: WireTable {
    package enum Field: Int, WireField {
        case worker

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: ReportRequest { ReportRequest(worker: .zero, results: []) }
    package static var listName: String { "results" }

    package var list: [JobReport] {
        get { results }
        set { results = newValue }
    }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.worker, &worker)
    }
}

package enum ReportField: Int, WireField {
    case job, lease, bytes, sha256, isReused, isVerified, validator, milliseconds
    /// Null for done.
    case outcome
    case digests, segments, refreshed
    case failureCode, failureMessage, refused, retryAfterSeconds, origins
    case cache, freshSeconds

    package static let layout = RowLayout(of: ReportField.self)
}

extension JobReport: WireObject {
    package typealias Field = ReportField

    package static var blank: JobReport {
        JobReport(job: JobID(0), lease: .zero, outcome: .returned())
    }

    /// A row has a column for each field of all outcomes. The outcome's are moved out and back, not
    /// copied: there are hundreds in a message.
    package mutating func code(with coder: inout some FieldCoder<ReportField>) throws {
        try coder.code(.job, &job)
        try coder.code(.lease, &lease)
        var moved = Outcome.returned()
        swap(&moved, &outcome)
        var kind = moved.kind
        var done = Done()
        var (code, message, refused): (String?, String?, String?)
        var retryAfterSeconds: Double?
        switch consume moved {
        case .done(let fields): done = fields
        case .failed(let failed):
            (code, message) = (failed.failure.code.rawValue, failed.failure.message)
            (refused, retryAfterSeconds) = (failed.refused, failed.retryAfterSeconds)
        case .returned(let afterSeconds): retryAfterSeconds = afterSeconds
        }
        try StoredObject.code(.bytes, .sha256, &done.stored, with: &coder)
        try coder.codeFlag(.isReused, &done.isReused)
        try coder.codeFlag(.isVerified, &done.isVerified)
        try coder.code(.validator, &done.validator)
        try coder.code(.milliseconds, &done.milliseconds)
        var end = kind == .done ? nil : kind
        try coder.code(.outcome, &end)
        kind = end ?? .done
        try coder.code(.digests, &done.digests)
        try coder.code(.segments, &done.segments)
        try coder.code(.refreshed, &done.refreshed)
        try coder.code(.failureCode, &code)
        try coder.code(.failureMessage, &message)
        try coder.code(.refused, &refused)
        try coder.code(.retryAfterSeconds, &retryAfterSeconds)
        try coder.codeJSON(.origins, &origins)
        try coder.code(.cache, &done.cache)
        try coder.code(.freshSeconds, &done.freshSeconds)
        guard (code == nil) == (message == nil) else {
            throw incomplete("a failure needs both its code and its message.")
        }
        switch (kind, code) {
        case (.done, _): outcome = .done(done)
        case (.failed, let code?):
            outcome = .failed(
                Failed(
                    Failure(FailureCode(code), message ?? ""), refused: refused,
                    retryAfterSeconds: retryAfterSeconds))
        case (.failed, nil): throw incomplete("a failed result lacks its failure.")
        case (.returned, _): outcome = .returned(afterSeconds: retryAfterSeconds)
        }
    }
}

extension ReportAnswer: WireMessage, WireObject {
    package enum Field: Int, WireField {
        case accepted, stale, rejected, cooldowns

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: ReportAnswer { ReportAnswer(answers: []) }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.accepted, &accepted)
        try coder.codeList(.stale, &stale)
        try coder.codeList(.rejected, &rejected)
        try coder.codeJSON(.cooldowns, &cooldowns)
        guard isConsistent else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "indices without results."))
        }
    }
}
