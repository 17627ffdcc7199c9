package import Model

/// A file of an interrupted body, and whose it is.
package struct InterruptedBody: Sendable {
    package let asset: AssetID
    /// Bytes that it occupies at the site; 0 for the record of a range, whose bytes are in the file of
    /// all ranges.
    package let bytes: Int64
    fileprivate let file: PrivateFile
    /// True if it lies in the worker's spool, which is no part of the site.
    fileprivate let isSpooled: Bool

    /// True if its removal frees a file at the site.
    package var isStored: Bool {
        if isSpooled { return false }
        if case .partialObject = file.kind { return true }
        return false
    }

    fileprivate init?(_ file: PrivateFile, of cluster: ClusterID, isSpooled: Bool) {
        let owner: BodyOwner?
        switch file.kind {
        case .partialObject(_, let found, _): (owner, bytes) = (found, file.bytes)
        case .record(_, let found): (owner, bytes) = (found, 0)
        case .object, .multipart, .digest, .probe, .symlink, .foreign: return nil
        }
        guard let owner, owner.cluster == cluster else { return nil }
        asset = owner.asset
        self.file = file
        self.isSpooled = isSpooled
    }
}

extension SiteStorage {
    /// Returns the interrupted bodies at the site that attempts of a cluster have left, and those in
    /// the spool of a bucket.
    package func interruptedBodies(of cluster: ClusterID) throws(Failure) -> [InterruptedBody] {
        var bodies = try privateFiles().compactMap {
            InterruptedBody($0, of: cluster, isSpooled: false)
        }
        if isBucket {
            bodies += try receiving.privateFiles().compactMap {
                InterruptedBody($0, of: cluster, isSpooled: true)
            }
        }
        return bodies
    }

    /// Removes an interrupted body, with its record; of a bucket, its upload is aborted. Returns false
    /// if a process still writes it, or if it is gone or another attempt's by now.
    package func remove(_ body: InterruptedBody) -> Bool {
        body.isSpooled
            ? receiving.remove(leftover: body.file) : remove(leftover: body.file)
    }
}
