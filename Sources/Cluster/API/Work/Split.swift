package import Model

/// `POST /v1/splits`: splits a large file into parts. The reporting worker keeps the first part
/// under the same lease. A repeated request has the same answer.
package struct SplitRequest: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID
    /// The multipart file: created by the worker, which already writes the first part there.
    package var multipart: MultipartID
    package var totalBytes: Int64
    package var partBytes: Int64
    package var validator: String
    /// Digests of the whole stated by the origin, a text of `FurtherDigests.isStatement`; nil for
    /// none.
    package var digests: String?

    package init(
        worker: WorkerID, job: JobID, lease: LeaseID, multipart: MultipartID, totalBytes: Int64,
        partBytes: Int64, validator: String
    ) {
        self.multipart = multipart
        self.worker = worker
        self.job = job
        self.lease = lease
        self.totalBytes = totalBytes
        self.partBytes = partBytes
        self.validator = validator
    }
}

/// The answer to `SplitRequest` and `SegmentBatch`.
package struct VerdictAnswer: Codable, Sendable {
    package var verdict: ReportAnswer.Verdict

    package init(verdict: ReportAnswer.Verdict) { self.verdict = verdict }
}
