package import Model

/// `POST /v1/rewritten-manifests`: requests the rewritten manifest that a leased job must store.
package struct RewrittenManifestRequest: Codable, Sendable {
    package var worker: WorkerID
    package var job: JobID
    package var lease: LeaseID

    package init(worker: WorkerID, job: JobID, lease: LeaseID) {
        self.worker = worker
        self.job = job
        self.lease = lease
    }
}

/// The answer to `RewrittenManifestRequest`; without content if the lease does not hold the job.
package struct RewrittenManifest: Codable, Sendable {
    package var content: String?

    package init(content: String?) { self.content = content }
}
