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
    /// done: the stored object (fetch, verify); nil for resolve and checksums.
    package var stored: StoredObject?
    /// done: true if the bytes were stored already and nothing was fetched.
    package var isReused = false
    /// done: true if a digest stated by the list or the origin was compared and matches.
    package var isVerified = false
    /// done: the origin's ETag, else its Last-Modified date; 1 to `WireLimits.validatorCharacters`
    /// characters, nil if it gives neither.
    package var validator: String?
    /// done of a fetch: time of its transfer, 0 to `WireLimits.transferMilliseconds`; nil if nothing
    /// was fetched.
    package var milliseconds: Int?
    /// done of a part: digests of the whole object in its response, a text of
    /// `FurtherDigests.isStatement`; nil for none.
    package var digests: String?
    /// done of a resolve: number of segments sent before with `SegmentBatch`. done of a refresh:
    /// number of segments sent with `RefreshBatch`, if the manifest lists others than before.
    package var segments: Int?
    /// done of a refresh: `unchanged` or `changed`.
    package var refreshed: RefreshOutcome?
    /// failed: the failure.
    package var failure: Failure?
    /// failed: `urlDigest` of the rejected URL; nil if unknown.
    package var refused: String?
    /// failed: seconds before the next attempt, by an origin's Retry-After. returned: seconds
    /// before the next lease, a minute at most.
    package var retryAfterSeconds: Double?
    /// Outcomes by origin, if not only the job's own origin was used; nil otherwise.
    package var origins: [OriginOutcome]?

    package enum Outcome: String, Codable, CaseIterable, FieldValue, Sendable {
        case done
        case failed
        /// Returned untouched: uses up no attempt.
        case returned
    }

    package init(job: JobID, lease: LeaseID, outcome: Outcome) {
        self.job = job
        self.lease = lease
        self.outcome = outcome
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
    package var cooling: [OriginCooldown]?

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

    package static let layout = RowLayout(of: ReportField.self)
}

extension JobReport: WireObject {
    package typealias Field = ReportField

    package static var blank: JobReport {
        JobReport(job: JobID(0), lease: .zero, outcome: .done)
    }

    package mutating func code(with coder: inout some FieldCoder<ReportField>) throws {
        try coder.code(.job, &job)
        try coder.code(.lease, &lease)
        try StoredObject.code(.bytes, .sha256, &stored, with: &coder)
        try coder.codeFlag(.isReused, &isReused)
        try coder.codeFlag(.isVerified, &isVerified)
        try coder.code(.validator, &validator)
        try coder.code(.milliseconds, &milliseconds)
        var end = outcome == .done ? nil : outcome
        try coder.code(.outcome, &end)
        outcome = end ?? .done
        try coder.code(.digests, &digests)
        try coder.code(.segments, &segments)
        try coder.code(.refreshed, &refreshed)
        var (code, message) = (failure?.code.rawValue, failure?.message)
        try coder.code(.failureCode, &code)
        try coder.code(.failureMessage, &message)
        if coder.isReading {
            guard (code == nil) == (message == nil) else {
                throw incomplete("a failure needs both its code and its message.")
            }
            failure = code.map { Failure(FailureCode($0), message ?? "") }
        }
        try coder.code(.refused, &refused)
        try coder.code(.retryAfterSeconds, &retryAfterSeconds)
        try coder.codeJSON(.origins, &origins)
    }
}

extension ReportAnswer: WireMessage, WireObject {
    package enum Field: Int, WireField {
        case accepted, stale, rejected, cooling

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: ReportAnswer { ReportAnswer(answers: []) }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.accepted, &accepted)
        try coder.codeList(.stale, &stale)
        try coder.codeList(.rejected, &rejected)
        try coder.codeJSON(.cooling, &cooling)
        guard isConsistent else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "indices that are no results."))
        }
    }
}
