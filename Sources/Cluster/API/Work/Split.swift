package import Model

/// `POST /v1/splits`: splits a large file into parts. The reporting worker keeps the first part
/// under the same lease. A repeated request has the same answer.
package struct SplitRequest: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    /// Lower-case UUID created by the worker, which already writes the first part there.
    package var assembly: String
    package var totalBytes: Int64
    package var partBytes: Int64
    package var validator: String
    /// Digests of the whole stated by the origin, a text of `FurtherDigests.isStatement`; nil for
    /// none.
    package var digests: String?

    package init(
        worker: WorkerID, job: JobID, lease: LeaseID, assembly: String, totalBytes: Int64,
        partBytes: Int64, validator: String
    ) {
        self.assembly = assembly
        self.worker = worker
        self.job = job
        self.lease = lease
        self.totalBytes = totalBytes
        self.partBytes = partBytes
        self.validator = validator
    }
}

/// The answer to `SplitRequest` and `SegmentBatch`; `job` is the first part's, if accepted.
package struct VerdictAnswer: Codable, Sendable {
    package var verdict: ReportAnswer.Verdict
    package var job: Job?

    package init(verdict: ReportAnswer.Verdict, job: Job? = nil) {
        self.verdict = verdict
        self.job = job
    }
}
