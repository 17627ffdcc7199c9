package import API
package import Model

/// A site with a failure that no job tries, although it is time: a worker must probe it.
package struct SiteToProbe: WorkCall {
    package let id: SiteID
    package let queue: String
    package let storageURL: String
    /// Workers that were asked before, and leave it to others for now.
    package let asked: [WorkerID]

    /// Returns true if a worker that requests a lease may probe the site.
    package func mayBeProbed(by request: LeaseRequest) -> Bool {
        !asked.contains(request.worker) && request.mayWrite(to: id, at: storageURL)
    }
}
